/** The authorities that a node trusts: those of its files, those that its parent has handed down, and which of both counts. */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAuthority, issueNode, type KeyAndCertificate } from '../../../../core/identity/authority.ts';
import { createNextAuthority, signAgain } from '../../../../core/identity/authority-change.ts';
import { authorityId } from '../../../../core/identity/peer-identity.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import type { NodeCredentials } from '../../../../core/wire/node-credentials.ts';
import { TreeTrust } from '../../../../core/wire/tree-trust.ts';

const issuing = { clock: systemClock, random: systemRandom };
const idOf = ({ certPem }: Pick<KeyAndCertificate, 'certPem'>) => authorityId(new X509Certificate(certPem));

let former: KeyAndCertificate;
let next: KeyAndCertificate & { readonly introductionPem: string };
let own: KeyAndCertificate;
let directory: string;
/** The content of the node's files. */
let files: NodeCredentials;

beforeAll(async () => {
  former = await createAuthority('shop', issuing);
  next = await createNextAuthority(former, 'shop', issuing);
  own = await issueNode(former, { tree: 'shop', path: 'eu', role: 'relay', hosts: [] }, issuing);
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banyan-trust-'));
  files = credentials(former.certPem, own.certPem);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function credentials(caPem: string, certPem: string): NodeCredentials {
  const [ca, cert, key] = [caPem, certPem, own.keyPem].map((pem) => Buffer.from(pem)) as [Buffer, Buffer, Buffer];
  return { caPem: ca, certPem: cert, keyPem: key, renewed: () => files };
}
const opened = () => new TreeTrust({ given: files, data: directory, log: silentLogger });
const trusts = (trust: TreeTrust) => trust.trusted.map(authorityId);
const both = () => [next.certPem, former.certPem, next.introductionPem].join('\n');
const onlyNext = () => [next.certPem, next.introductionPem].join('\n');

describe('the authorities that a node trusts', () => {
  it('are those of its files until its parent hands others down, and nothing is handed on before', () => {
    const trust = opened();
    expect(trusts(trust)).toEqual([idOf(former)]);
    expect(trust.handedDown([own.certPem])).toBeUndefined();
    expect(trust.bundle()).toBe(former.certPem);
  });

  it('are those that the parent has handed down, also after a restart', () => {
    const trust = opened();
    const before = trust.credentials;
    trust.receive({ bundle: both() });
    expect(trusts(trust)).toEqual([idOf(next), idOf(former)]);
    // Whoever keeps credentials notices the change by the object.
    expect(before.renewed!()).not.toBe(before);
    expect(before.renewed!()).toBe(trust.credentials);
    trust.receive({ bundle: onlyNext() });
    expect(trusts(opened())).toEqual([idOf(next)]);
    // The former authority does not come back, although the files of the node still name it.
    const again = opened();
    again.receive({ bundle: former.certPem });
    expect(trusts(again)).toEqual([idOf(next)]);
  });

  it('stay as they are if the parent hands down nothing that is trusted here', async () => {
    const trust = opened();
    trust.receive({ bundle: (await createAuthority('other', issuing)).certPem });
    expect(trusts(trust)).toEqual([idOf(former)]);
    trust.receive({ bundle: 'no certificate' });
    expect(trusts(trust)).toEqual([idOf(former)]);
  });

  it('are those of the files again when a person changes the files, until the parent hands down another bundle', () => {
    const trust = opened();
    trust.receive({ bundle: onlyNext() });
    files = credentials(`${former.certPem}\n${next.certPem}`, own.certPem);
    expect(trusts(trust)).toEqual([idOf(former), idOf(next)]);
    trust.receive({ bundle: onlyNext() });
    expect(trusts(trust)).toEqual([idOf(former), idOf(next)]);
    trust.receive({ bundle: both() });
    expect(trusts(trust)).toEqual([idOf(next), idOf(former)]);
  });

  it('are not those of a damaged file: the node does not start', () => {
    opened().receive({ bundle: onlyNext() });
    const file = join(directory, 'authorities.json');
    writeFileSync(file, readFileSync(file, 'utf8').slice(0, 100));
    expect(opened).toThrow(
      /authorities\.json: the authorities that were handed down can't be read .* restore it, or remove it/,
    );
  });
});

it('says whether a bundle would leave the node without a certificate that counts', () => {
  const trust = opened();
  expect([both(), onlyNext(), 'no certificate'].map((bundle) => trust.wouldEndOwn(bundle))).toEqual([
    false,
    true,
    false,
  ]);
});

describe('a node whose parent signs with another authority', () => {
  it('has an outdated certificate until it leads to that authority', async () => {
    const trust = opened();
    trust.receive({ bundle: both() });
    expect(trust.isOutdated(own.certPem)).toBe(false);
    trust.receive({ bundle: both(), signsWith: idOf(next) });
    expect(trust.isOutdated(own.certPem)).toBe(true);
    const again = await signAgain(next, own.certPem, issuing);
    expect(trust.isOutdated(`${again}\n${next.introductionPem}`)).toBe(false);
  });

  it('says to which authority its certificate leads, and tells its children with which one it signs', async () => {
    const trust = opened();
    trust.receive({ bundle: both() });
    expect(trust.report()).toEqual({ authority: idOf(former), trusts: [idOf(next), idOf(former)] });
    const again = `${await signAgain(next, own.certPem, issuing)}\n${next.introductionPem}`;
    files = credentials(former.certPem, again);
    expect(trust.report()?.authority).toBe(idOf(next));
    expect(trust.handedDown([again])).toMatchObject({ signsWith: idOf(next) });
    expect(trust.handedDown([own.certPem])).toMatchObject({ signsWith: idOf(former) });
    expect(trust.handedDown([again, own.certPem])).not.toHaveProperty('signsWith');
  });

  it('calls its listeners once for each change', () => {
    const trust = opened();
    let changes = 0;
    trust.onChange(() => changes++);
    for (const signsWith of [idOf(former), idOf(former), idOf(next)]) trust.receive({ bundle: both(), signsWith });
    expect(changes).toBe(2);
  });
});

it('a session whose certificate leads to an authority that was dropped does not count any more', () => {
  const trust = opened();
  const peer = {
    path: 'eu:kid',
    role: 'agent',
    certificate: { key: 'k', fromMs: 0, authority: idOf(former) },
  } as const;
  expect(trust.whyUntrusted(peer)).toBeUndefined();
  trust.receive({ bundle: onlyNext() });
  expect(trust.whyUntrusted(peer)).toMatch(
    /"eu:kid" was signed under the authority [0-9a-f]{16}, which is not trusted/,
  );
  expect(trust.whyUntrusted({ path: 'eu:kid', role: 'agent' })).toBeUndefined();
});
