import { describe, expect, it } from 'vitest';
import { Revocations } from '../../../../core/access/revocations.ts';

describe('revoked users', () => {
  it('have certificates that are refused if these began to be valid before the revocation, and good ones after it', () => {
    const revocations = new Revocations();
    revocations.set('a', { user: 'alice', atMs: 5_000 });
    expect([4_000, 5_000, 6_000].map((fromMs) => revocations.isRevoked('alice', fromMs))).toEqual([true, true, false]);
    expect(revocations.isRevoked('bob', 0)).toBe(false);
  });

  it('are those of this node and of the nodes above, each with the last time', () => {
    const revocations = new Revocations();
    revocations.setAbove({ alice: 9_000, carol: 1_000 });
    revocations.set('a', { user: 'alice', atMs: 5_000 });
    revocations.set('b', { user: 'bob', atMs: 2_000 });
    revocations.set('b2', { user: 'bob', atMs: 3_000 });
    expect(revocations.all()).toEqual({ alice: 9_000, bob: 3_000, carol: 1_000 });
    revocations.setAbove({});
    revocations.set('b2', undefined);
    expect(revocations.all()).toEqual({ alice: 5_000, bob: 2_000 });
    expect(revocations.isRevoked('carol', 0)).toBe(false);
  });

  it('may have any name', () => {
    const revocations = new Revocations();
    revocations.set('a', { user: 'constructor', atMs: 1 });
    expect(revocations.isRevoked('constructor', 0)).toBe(true);
    expect(revocations.isRevoked('__proto__', 0)).toBe(false);
    revocations.set('b', { user: '__proto__', atMs: 1 });
    expect(Object.keys(revocations.all())).toEqual(['__proto__', 'constructor']);
  });
});
