import { expect, it } from 'vitest';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../core/apiserver/verbs/embedded-space.ts';
import type { Condition } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { showNode } from '../../../../relay/inventory-status/node-objects.ts';

it('the Node object of a relay shows why it does not reach its parent, as long as it does not', () => {
  const storage = new EmbeddedStorage({ store: new MemoryStore(), name: 'system', logger: silentLogger, hook() {} });
  const space = new EmbeddedSpace({
    name: 'system',
    storage,
    kinds: new SpaceKinds(storage, ownKinds('System')),
    clock: new VirtualClock(),
    random: new SeededRandom(1),
    fields: fieldManager,
    admissions: [],
  });
  const ready = (state: 'Connected' | 'Disconnected', unreached?: string) => {
    showNode(space, 'eu', 'Relay', { version: 'test', session: { state } }, 0, {}, unreached);
    const node = space.get({ group: 'mesh.banyan.io', resource: 'nodes', namespace: '', name: 'eu' });
    const status = node?.status as { conditions: Condition[] } | undefined;
    return status?.conditions.find(({ type }) => type === 'Ready');
  };
  expect(ready('Disconnected')?.message).toBe('there is no session with the parent');
  expect(ready('Disconnected', 'the proxy http://p:3128 wants authentication')).toMatchObject({
    status: 'False',
    message: 'there is no session with the parent: the proxy http://p:3128 wants authentication',
  });
  expect(ready('Connected')).toMatchObject({
    status: 'True',
    message: 'the session with the parent is established',
  });
});
