/** The expiry of join tokens, over a real system space. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { hashOfSecret } from '../../../../core/identity/join-token.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { expiredKeptMs, TokenExpiry } from '../../../../relay/join/token-expiry.ts';
import { openSpace } from '../../../../relay/spaces/own-spaces.ts';

const hourMs = 3_600_000;
const path = 'eu:till';

let clock: VirtualClock;
let space: Space;
let expiry: TokenExpiry;
let deferred: (() => void)[];
beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2030, 0, 1));
  deferred = [];
  const ports = { store: new MemoryStore(), clock, random: new SeededRandom(1), log: silentLogger, path: 'eu' };
  ({ space } = openSpace({ ...ports, defer: (run) => void deferred.push(run) }, 'system', 'System', () => {}));
  expiry = new TokenExpiry({ space, clock, log: silentLogger });
});
afterEach(() => expiry.stop());

const keyOf = (name: string) => ({ group: 'mesh.banyan.io', resource: 'jointokens', namespace: '', name });
const stateOf = (name: string) => {
  const token = space.get(keyOf(name)) as { status?: { state?: string } } | undefined;
  return token ? (token.status?.state ?? 'unused') : 'gone';
};
function token(name: string, inMs: number, metadata: object = {}): void {
  const expires = new Date(clock.wallMs() + inMs).toISOString();
  const spec = { path, expires, hash: hashOfSecret('s') };
  space.create({
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'JoinToken',
    metadata: { name, ...metadata },
    spec,
  } as Parameters<Space['create']>[0]);
}
const use = (name: string) =>
  space.update(
    { ...space.get(keyOf(name))!, status: { state: 'Used', key: 'k', usedAt: '2030-01-01T00:00:00Z' } },
    { subresource: 'status' },
  );

describe('a join token that nobody uses', () => {
  it('is marked as expired at its time, whether it was there at the start or came later, and is removed a day later', () => {
    token('early', hourMs);
    expiry.start();
    token('late', 2 * hourMs);
    clock.advance(hourMs - 1);
    expect([stateOf('early'), stateOf('late')]).toEqual(['unused', 'unused']);
    clock.advance(1);
    expect([stateOf('early'), stateOf('late')]).toEqual(['Expired', 'unused']);
    clock.advance(hourMs);
    expect(stateOf('late')).toBe('Expired');
    clock.advance(expiredKeptMs - hourMs - 1);
    expect([stateOf('early'), stateOf('late')]).toEqual(['Expired', 'Expired']);
    clock.advance(1);
    expect([stateOf('early'), stateOf('late')]).toEqual(['gone', 'Expired']);
    clock.advance(hourMs);
    expect(stateOf('late')).toBe('gone');
  });

  it('is kept for good if it was used', () => {
    token('used', hourMs);
    expiry.start();
    use('used');
    clock.advance(100 * expiredKeptMs);
    expect(stateOf('used')).toBe('Used');
  });

  it('that somebody has deleted is no longer watched', () => {
    token('one', hourMs);
    expiry.start();
    space.delete(keyOf('one'));
    clock.advance(2 * hourMs);
    expect(stateOf('one')).toBe('gone');
  });

  it('of many that expire at once is marked as soon as the others', () => {
    for (let i = 0; i < 250; i++) token(`t${i}`, hourMs);
    expiry.start();
    clock.advance(hourMs);
    expect(new Set(Array.from({ length: 250 }, (_, i) => stateOf(`t${i}`)))).toEqual(new Set(['Expired']));
  });

  it.each(['Conflict', 'StoreFull'] as const)(
    'is written again later if a write is refused (%s), and no sooner',
    (code) => {
      token('one', hourMs);
      expiry.start();
      const refuse = () => {
        throw new BanyanError(code, 'not now');
      };
      const update = vi.spyOn(space, 'update').mockImplementation(refuse);
      clock.advance(hourMs + 29_999);
      expect([stateOf('one'), update.mock.calls.length]).toEqual(['unused', 1]);
      update.mockRestore();
      clock.advance(1);
      expect(stateOf('one')).toBe('Expired');
    },
  );

  it('is removed when there is room for that', () => {
    token('one', hourMs);
    expiry.start();
    const remove = vi.spyOn(space, 'delete').mockImplementation(() => {
      throw new BanyanError('StoreFull', 'no room');
    });
    clock.advance(hourMs + expiredKeptMs);
    expect([stateOf('one'), remove.mock.calls.length]).toEqual(['Expired', 1]);
    remove.mockRestore();
    clock.advance(60_000);
    expect(stateOf('one')).toBe('gone');
  });

  it('that a finalizer keeps is not written again and again', () => {
    token('kept', hourMs, { finalizers: ['example.com/audit'] });
    expiry.start();
    clock.advance(hourMs + expiredKeptMs);
    const revision = space.storage.revision();
    clock.advance(10 * hourMs);
    expect([stateOf('kept'), space.storage.revision()]).toEqual(['Expired', revision]);
  });
});

it('while nothing changes, no token is read', () => {
  for (let i = 0; i < 50; i++) token(`used-${i}`, hourMs);
  for (let i = 0; i < 50; i++) use(`used-${i}`);
  token('waiting', 20 * hourMs);
  expiry.start();
  const [scan, get] = [vi.spyOn(space.storage, 'scan'), vi.spyOn(space, 'get')];
  clock.advance(19 * hourMs);
  expect([scan.mock.calls.length, get.mock.calls.length]).toEqual([0, 0]);
  clock.advance(hourMs);
  expect([scan.mock.calls.length, get.mock.calls.length]).toEqual([0, 1]);
});

it('tokens, used ones too, go with the SyncTarget that owns them', () => {
  const apiVersion = 'inventory.banyan.io/v1alpha1';
  const { metadata } = space.create({ apiVersion, kind: 'SyncTarget', metadata: { name: 'till' }, spec: {} });
  const ownerReferences = [{ apiVersion, kind: 'SyncTarget', name: 'till', uid: metadata.uid }];
  token('used', hourMs, { ownerReferences });
  token('unused', hourMs, { ownerReferences });
  token('of-nobody', hourMs);
  expiry.start();
  use('used');
  const settle = () => {
    for (let run = deferred.shift(); run; run = deferred.shift()) run();
  };
  settle();
  expect([stateOf('used'), stateOf('unused')]).toEqual(['Used', 'unused']);
  space.delete({ group: 'inventory.banyan.io', resource: 'synctargets', namespace: '', name: 'till' });
  settle();
  expect(['used', 'unused', 'of-nobody'].map(stateOf)).toEqual(['gone', 'gone', 'unused']);
});
