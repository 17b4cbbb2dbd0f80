import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createIssuer, issueJoined } from '../../../../core/identity/authority.ts';
import { judgeRequest, newKey, requestFor } from '../../../../core/identity/certificate-request.ts';
import { issuedSchema, leafDays, validityFrom, validityOf } from '../../../../core/identity/certificate-validity.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { TestTree } from '../../../support/test-tree.ts';

const hourMs = 3_600_000;

describe('the lifetime of a certificate', () => {
  it('begins an hour before it is issued, for clocks that are behind, or a tenth of a short lifetime', () => {
    const from = (lifeMs: number) => {
      const { notBefore, notAfter } = validityFrom(1_000_000_000, lifeMs);
      return [1_000_000_000 - notBefore.getTime(), notAfter.getTime() - 1_000_000_000];
    };
    expect(from(leafDays * 24 * hourMs)).toEqual([hourMs, leafDays * 24 * hourMs]);
    expect(from(60_000)).toEqual([6_000, 60_000]);
  });

  it('is the relay’s setting, and its renewal comes before its end', async () => {
    const clock = new VirtualClock(Math.floor(Date.now() / 1_000) * 1_000);
    const tree = await TestTree.create('shop');
    const ports = { clock, random: systemRandom };
    const issuer = await createIssuer(tree.authority, { tree: 'shop', path: 'eu' }, ports);
    const judged = await judgeRequest(await requestFor('eu:kid', newKey()), {
      path: 'eu:kid',
      id: 'spiffe://shop/node/agent/eu/kid',
      role: 'agent',
      hosts: [],
    });
    const validity = validityOf(new X509Certificate(await issueJoined(issuer, judged, ports, { lifeMs: 60_000 })));
    expect(validity).toEqual({
      endsAtMs: clock.wallMs() + 60_000,
      renewAtMs: clock.wallMs() - 6_000 + 44_000,
    });
  });

  it.each([59, 397 * 86_400 + 1, 60.5, '1h'])('must not be %s seconds', (certificateSeconds) => {
    expect(issuedSchema.safeParse({ certificateSeconds }).success).toBe(false);
  });
});
