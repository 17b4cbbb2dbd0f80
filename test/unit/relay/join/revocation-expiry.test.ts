/** When Revocations are removed, and how many a node may have, over a real system space. */
import { expect, it } from 'vitest';
import {
  checkRevocationRoom,
  revocationEndsMs,
  revocationOf,
  revocationsMax,
} from '../../../../core/apiserver/kinds/revocation-kind.ts';
import { issuerMs } from '../../../../core/identity/certificate-validity.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { RevocationExpiry } from '../../../../relay/join/revocation-expiry.ts';
import { openSpace } from '../../../../relay/spaces/own-spaces.ts';

const dayMs = 86_400_000;
const key = (name: string) => ({ group: 'mesh.banyan.io', resource: 'revocations', namespace: '', name });

function system(clock: VirtualClock) {
  const ports = { store: new MemoryStore(), clock, random: new SeededRandom(1), log: silentLogger, path: 'eu' };
  return openSpace({ ...ports, defer: () => {} }, 'system', 'System', () => {}).space;
}

it('a Revocation goes when every certificate that it refuses has expired, and not before', () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const space = system(clock);
  const early = revocationOf({ kind: 'nodes', name: 'eu:a', atMs: clock.wallMs() });
  space.create(early);
  const expiry = new RevocationExpiry({ space, clock, log: silentLogger });
  expiry.start();
  clock.advance(dayMs);
  const late = revocationOf({ kind: 'users', name: 'alice', atMs: clock.wallMs() });
  space.create(late);
  const left = () => [early, late].map(({ metadata }) => space.get(key(metadata.name)) !== undefined);
  clock.advance(issuerMs - dayMs - 1_000);
  expect(left()).toEqual([true, true]);
  clock.advance(dayMs / 2);
  expect(left()).toEqual([false, true]);
  clock.advance(dayMs);
  expect(left()).toEqual([false, false]);
  expiry.stop();
  expect(revocationEndsMs(0)).toBe(issuerMs);
});

it('a Revocation names a user or a node, and never changes to another one', () => {
  const space = system(new VirtualClock(Date.UTC(2030, 0, 1)));
  const make = (name: string, spec: object) =>
    space.create({ apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Revocation', metadata: { name }, spec });
  expect(() => make('none', {})).toThrow(/name either a user or a node/);
  expect(() => make('both', { user: 'a', node: { path: 'eu' } })).toThrow(/name either a user or a node/);
  expect(() => make('center', { node: { path: '' } })).toThrow(/spec.node.path/);
  const made = make('one', { node: { path: 'eu:a' } });
  const changed = (spec: object) => () => space.update({ ...made, spec });
  expect(changed({ node: { path: 'eu:b' } })).toThrow(/the node can not be changed/);
  expect(changed({ user: 'eu:a' })).toThrow(/the user can not be changed/);
});

it('a node takes a bounded number of Revocations', () => {
  expect(() => checkRevocationRoom(revocationsMax - 1)).not.toThrow();
  expect(() => checkRevocationRoom(revocationsMax)).toThrow(/this node has 5000 Revocations, and at most 5000 fit/);
});
