import { describe, expect, it } from 'vitest';
import { Revocations } from '../../../../core/access/revocations.ts';
import type { PeerIdentity } from '../../../../core/identity/peer-identity.ts';

describe('revoked users', () => {
  it('have certificates that are refused if these began to be valid before the revocation, and good ones after it', () => {
    const revocations = new Revocations();
    revocations.set('a', { kind: 'users', name: 'alice', atMs: 5_000 });
    expect([4_000, 5_000, 6_000].map((fromMs) => revocations.isRevoked('alice', fromMs))).toEqual([true, true, false]);
    expect(revocations.isRevoked('bob', 0)).toBe(false);
  });

  it('are those of this node and of the nodes above, each with the last time', () => {
    const revocations = new Revocations();
    revocations.setAbove({ users: { alice: 9_000, carol: 1_000 }, nodes: {} });
    revocations.set('a', { kind: 'users', name: 'alice', atMs: 5_000 });
    revocations.set('b', { kind: 'users', name: 'bob', atMs: 2_000 });
    revocations.set('b2', { kind: 'users', name: 'bob', atMs: 3_000 });
    expect(revocations.all().users).toEqual({ alice: 9_000, bob: 3_000, carol: 1_000 });
    revocations.setAbove({ users: {}, nodes: {} });
    revocations.set('b2', undefined);
    expect(revocations.all().users).toEqual({ alice: 5_000, bob: 2_000 });
    expect(revocations.isRevoked('carol', 0)).toBe(false);
  });

  it('may have any name', () => {
    const revocations = new Revocations();
    revocations.set('a', { kind: 'users', name: 'constructor', atMs: 1 });
    expect(revocations.isRevoked('constructor', 0)).toBe(true);
    expect(revocations.isRevoked('__proto__', 0)).toBe(false);
    revocations.set('b', { kind: 'users', name: '__proto__', atMs: 1 });
    expect(Object.keys(revocations.all().users)).toEqual(['__proto__', 'constructor']);
  });
});

describe('revoked nodes', () => {
  const peer = (path: string, fromMs: number, ...signers: [string, number][]): PeerIdentity => ({
    path,
    role: 'agent',
    certificate: { key: 'k', fromMs, signers: signers.map(([of, at]) => ({ path: of, key: 'k', fromMs: at })) },
  });
  const revocations = new Revocations();
  revocations.set('a', { kind: 'nodes', name: 'eu', atMs: 5_000 });

  it('have certificates that are refused, and so has everything that they have signed before', () => {
    expect(revocations.whyRevoked(peer('eu', 5_000))).toBe('the certificate of "eu" was revoked');
    expect(revocations.whyRevoked(peer('eu', 6_000))).toBeUndefined();
    // The thief of the authority writes any time into what he signs, but not into the certificate of the authority.
    expect(revocations.whyRevoked(peer('eu:paris:till', 9_000, ['eu:paris', 9_000], ['eu', 4_000]))).toBe(
      'the certificate of "eu:paris:till" was signed by the relay "eu", whose authority was revoked',
    );
    expect(revocations.whyRevoked(peer('eu:paris:till', 1_000, ['eu:paris', 1_000], ['eu', 6_000]))).toBeUndefined();
    expect(revocations.whyRevoked(peer('eu-west', 1_000))).toBeUndefined();
    expect(revocations.whyRevoked({ path: 'eu', role: 'relay' })).toBeUndefined();
  });

  it('are handed down beside users, and a name of a user is no path', () => {
    revocations.set('b', { kind: 'users', name: 'us', atMs: 5_000 });
    expect(revocations.all()).toEqual({ users: { us: 5_000 }, nodes: { eu: 5_000 } });
    expect([revocations.nodeRevokedAtMs('us'), revocations.isRevoked('eu', 0)]).toEqual([undefined, false]);
  });
});
