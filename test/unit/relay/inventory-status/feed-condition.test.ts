import { describe, expect, it } from 'vitest';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../core/apiserver/verbs/embedded-space.ts';
import type { Condition } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import type { Divergence } from '../../../../core/session/feed-alarm.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { showNode } from '../../../../relay/inventory-status/node-objects.ts';

describe('the Node object of a node whose feed differed from what its neighbour has', () => {
  const storage = new EmbeddedStorage({
    store: new MemoryStore(),
    name: 'system',
    logger: silentLogger,
    hook: () => {},
  });
  const space = new EmbeddedSpace({
    name: 'system',
    storage,
    kinds: new SpaceKinds(storage, ownKinds('System')),
    clock: new VirtualClock(),
    random: new SeededRandom(1),
    fields: fieldManager,
    admissions: [],
  });
  const conditionWith = (diverged: Divergence | undefined, wallMs: number) => {
    const session = { state: 'Connected' as const };
    showNode(space, 'eu:kid', 'Agent', { version: 'test', session }, wallMs, { diverged });
    const node = space.get({ group: 'mesh.banyan.io', resource: 'nodes', namespace: '', name: 'eu.kid' });
    const status = node?.status as { conditions: Condition[] } | undefined;
    return status?.conditions.find(({ type }) => type === 'FeedDiverged');
  };

  it('has the condition FeedDiverged, with its time and feed, while there is the alarm', () => {
    const atMs = Date.UTC(2030, 0, 2, 3, 4, 5);
    expect(conditionWith(undefined, atMs - 1_000)).toBeUndefined();
    const on = conditionWith({ atMs, what: 'reported/kid: at revision 2 there are 1 rows here and 2 there' }, atMs);
    expect(on).toMatchObject({
      status: 'True',
      reason: 'DigestMismatch',
      lastTransitionTime: '2030-01-02T03:04:05Z',
      message: expect.stringContaining('found at 2030-01-02T03:04:05Z and reconciled: reported/kid: at revision 2'),
    });
    expect(conditionWith(undefined, atMs + 86_400_000)).toMatchObject({ status: 'False', reason: 'DigestsAgree' });
  });
});
