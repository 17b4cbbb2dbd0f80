/** Which hosts a relay learns from the Node objects of the relays below it, over a real system space. */
import { expect, it } from 'vitest';
import { objectName } from '../../../../core/identity/node-path.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { HostsBelow } from '../../../../relay/join/hosts-below.ts';
import { openSpace } from '../../../../relay/spaces/own-spaces.ts';

const node = (path: string, hosts?: readonly string[]) => ({
  apiVersion: 'mesh.banyan.io/v1alpha1',
  kind: 'Node',
  metadata: { name: objectName(path) },
  spec: { path, role: 'Relay', ...(hosts ? { hosts } : {}) },
});

it('the hosts are those of the relays directly below, at the start and after each change', () => {
  const ports = {
    store: new MemoryStore(),
    clock: new VirtualClock(0),
    random: new SeededRandom(1),
    log: silentLogger,
  };
  const { space } = openSpace({ ...ports, path: 'eu', defer: () => {} }, 'system', 'System', () => {});
  const seen: (readonly string[])[] = [];
  // The node itself has hosts at its parent alone, and a deeper relay has those that the relay above it has too.
  for (const one of [
    node('eu', ['eu.test']),
    node('eu:lyon', ['l.test', 'k.test']),
    node('eu:lyon:east', ['e.test']),
  ]) {
    space.create(one);
  }
  const below = new HostsBelow({ path: 'eu', space, changed: (hosts) => seen.push(hosts) });
  below.start();
  const paris = space.create(node('eu:paris'));
  const named = space.update({ ...paris, spec: { ...(paris.spec as object), hosts: ['k.test', 'p.test'] } });
  space.delete(space.keyOf(named));
  below.stop();
  space.create(node('eu:nice', ['n.test']));
  expect(seen).toEqual([
    ['k.test', 'l.test'],
    ['k.test', 'l.test', 'p.test'],
    ['k.test', 'l.test'],
  ]);
});
