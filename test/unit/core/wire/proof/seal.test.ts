import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock, VirtualClock } from '../../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import type { Sealed } from '../../../../../core/wire/generated/mesh.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { ProofSigner, proofNonceBytes, proven, type SessionNonces } from '../../../../../core/wire/proof/seal.ts';
import { TestTree } from '../../../../support/test-tree.ts';

const yearMs = 366 * 86_400_000;
const nonces: SessionNonces = { challenge: Buffer.alloc(proofNonceBytes, 1), nonce: Buffer.alloc(proofNonceBytes, 2) };
const body = Buffer.from('a hello');

let tree: TestTree;
let child: NodeCredentials;
let sealed: Sealed;
beforeAll(async () => {
  tree = await TestTree.create();
  child = await tree.credentials('eu:kid', 'agent');
  sealed = new ProofSigner(child).seal('child', body, nonces);
});

const trust = (wallMs = systemClock.wallMs()) => ({ caPem: child.caPem, wallMs });

function refusal(judge: () => unknown): string {
  try {
    judge();
  } catch (error) {
    expect(error).toBeInstanceOf(BanyanError);
    expect(error).toMatchObject({ code: 'Unauthorized' });
    return (error as BanyanError).message;
  }
  throw new Error('it was accepted');
}

describe('a sealed message', () => {
  it('proves its sender, in either direction', () => {
    expect(proven('child', sealed, nonces, trust())).toMatchObject({ path: 'eu:kid', role: 'agent' });
    const answer = new ProofSigner(child).seal('parent', body, nonces);
    expect(proven('parent', answer, nonces, trust())).toMatchObject({ path: 'eu:kid', role: 'agent' });
  });

  it('proves nothing to another session: each nonce counts, and their order', () => {
    const others = [
      { ...nonces, challenge: Buffer.alloc(proofNonceBytes, 3) },
      { ...nonces, nonce: Buffer.alloc(proofNonceBytes, 3) },
      { challenge: nonces.nonce, nonce: nonces.challenge },
    ];
    for (const other of others)
      expect(refusal(() => proven('child', sealed, other, trust()))).toContain('for this session');
  });

  it('of one direction proves nothing in the other', () => {
    expect(refusal(() => proven('parent', sealed, nonces, trust()))).toContain('the signature is not the one of');
    const turned = { challenge: nonces.nonce, nonce: nonces.challenge };
    expect(refusal(() => proven('parent', sealed, turned, trust()))).toContain('the signature is not the one of');
  });

  it('with a changed bit in the message proves nothing', () => {
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (at, bits) => {
        const changed = Buffer.from(body);
        changed[at]! ^= bits;
        refusal(() => proven('child', { ...sealed, body: changed }, nonces, trust()));
      }),
      { numRuns: 30 },
    );
  });

  it('with an invalid signature proves nothing, whatever it is', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (signature) => {
        refusal(() => proven('child', { ...sealed, signature: Buffer.from(signature) }, nonces, trust()));
      }),
      { numRuns: 30 },
    );
  });

  it('with the certificate of another node proves nothing', async () => {
    const other = await tree.credentials('eu:other', 'agent');
    const certificates = [new X509Certificate(other.certPem).raw];
    expect(refusal(() => proven('child', { ...sealed, certificates }, nonces, trust()))).toContain(
      '/node/agent/eu/other',
    );
  });

  it('by a certificate of another tree is refused, even if the tree has the same name', async () => {
    const foreign = await (await TestTree.create()).credentials('eu:kid', 'agent');
    const message = new ProofSigner(foreign).seal('child', body, nonces);
    expect(refusal(() => proven('child', message, nonces, trust()))).toContain(
      'was not signed by the authority of this tree',
    );
  });

  it('by an expired certificate is refused with the date, and so is one that is not valid yet', async () => {
    const past = await tree.credentials('eu:kid', 'agent', new VirtualClock(systemClock.wallMs() - 2 * yearMs));
    const message = new ProofSigner(past).seal('child', body, nonces);
    expect(refusal(() => proven('child', message, nonces, trust()))).toMatch(
      /agent\/eu\/kid expired on .* issue a new one/,
    );
    const early = systemClock.wallMs() - yearMs;
    expect(refusal(() => proven('child', sealed, nonces, trust(early)))).toContain('is valid only from');
  });

  it('by a user of the API is refused: a user is no node, and no server', async () => {
    const user = tree.with(await tree.user('mallory'));
    const hello = new ProofSigner(user).seal('child', body, nonces);
    expect(refusal(() => proven('child', hello, nonces, trust()))).toContain('names no node of a tree');
    const welcome = new ProofSigner(user).seal('parent', body, nonces);
    expect(refusal(() => proven('parent', welcome, nonces, trust()))).toContain('is not for the use as a server');
  });

  it.each([
    ['none', () => [], 'no certificate was presented'],
    ['too many', () => Array<Buffer>(12).fill(sealed.certificates[0]!), '12 certificates were presented; at most 11'],
    ['one that is far too large', () => [Buffer.alloc(20_000)], 'a certificate of 20000 bytes'],
    ['garbage', () => [Buffer.from('garbage')], 'the presented bytes are no certificate'],
  ])('with certificates that are %s is refused', (_, certificates, message) => {
    expect(refusal(() => proven('child', { ...sealed, certificates: certificates() }, nonces, trust()))).toContain(
      message,
    );
  });

  it('cannot be made with a key that is not ECDSA', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const keyPem = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect(() => new ProofSigner({ ...child, keyPem })).toThrow("the node's key is of type ed25519");
  });
});
