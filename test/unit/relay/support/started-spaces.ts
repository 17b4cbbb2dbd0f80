/** The spaces of a center, on a store of the test. A second call on the same store is a restart. */
import { tokenKeysIn } from '../../../../core/authentication/token-key.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import type { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { childrenSchema, type NodeConfig } from '../../../../relay/config/config.ts';
import { NodeSpaces } from '../../../../relay/spaces/node-spaces.ts';

export function startedSpaces(
  store: MemoryStore,
  spaces: NodeConfig['spaces'],
  clock: VirtualClock = new VirtualClock(),
): NodeSpaces {
  const tokenKeys = () => tokenKeysIn(store);
  const [random, log] = [new SeededRandom(1), silentLogger];
  const ports = { store, clock, random, log, defer: () => {}, path: '', tokenKeys, isServedAbove: () => false };
  return new NodeSpaces(
    ports,
    { spaces, access: { fromAbove: 'grants' }, children: childrenSchema.parse({}) },
    {
      inventoryChanged: () => {},
      revocationsChanged: () => {},
      claimsChanged: () => {},
      spaceRemoved: () => {},
      nodeDeleted: () => {},
      authoritiesWritten: () => {},
      metricsAccountsChanged: () => {},
      isParentAway: () => false,
    },
  );
}
