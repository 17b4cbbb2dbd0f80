import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { leafDays } from '../../../../core/identity/certificate-validity.ts';
import { expiryOfChains, firstExpiry } from '../../../../core/identity/expiry.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { TestTree } from '../../../support/test-tree.ts';

const start = Date.UTC(2030, 0, 1);
let early: X509Certificate;
let late: X509Certificate;
beforeAll(async () => {
  const tree = await TestTree.create('shop');
  const issued = async (path: string, role: 'relay' | 'agent', atMs: number) =>
    new X509Certificate((await tree.credentials(path, role, new VirtualClock(atMs))).certPem);
  early = await issued('eu:kid', 'agent', start);
  late = await issued('eu', 'relay', start + 60_000);
});

describe('the expiry of a link', () => {
  it('is that of the earlier certificate, and says whose it is and who renews it', () => {
    const atMs = start + leafDays * 86_400_000;
    expect(firstExpiry(early, late)).toEqual({
      atMs,
      words: `the certificate spiffe://shop/node/agent/eu/kid expired on ${early.validTo}: put new certificate files in place at this node`,
    });
    expect(firstExpiry(late, early)).toEqual({
      atMs,
      words: `the certificate spiffe://shop/node/agent/eu/kid expired on ${early.validTo}: renew it at the other end`,
    });
  });

  it('is that of the known certificate if the other end shows none, and unknown if neither does', () => {
    expect(firstExpiry(undefined, late)?.atMs).toBe(late.validToDate.getTime());
    expect(firstExpiry(late, undefined)?.atMs).toBe(late.validToDate.getTime());
    expect(firstExpiry(undefined, undefined)).toBeUndefined();
  });

  it('is read from certificates of Node 20 too, which have their dates only as text', () => {
    const { subject, subjectAltName, validTo } = late;
    expect(firstExpiry(undefined, { subject, subjectAltName, validTo })).toEqual(firstExpiry(undefined, late));
  });

  it('uses the first certificate of each chain', () => {
    expect(expiryOfChains([late.raw, early.raw], [late.raw, early.raw])).toEqual(firstExpiry(late, late));
    expect(expiryOfChains([], [])).toBeUndefined();
  });
});
