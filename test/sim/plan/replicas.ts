/** Relays that are several processes with one path, and faults at one of them while the others serve. */
import { withReplica } from '../../../core/identity/replica.ts';
import { type Action, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { isChildOf, type PlannedNode } from './tree.ts';

/** Gives replicas to some relays. The product refuses spaces at replicas, and replicas directly below replicas. */
export function withReplicas(chance: Chance, nodes: readonly PlannedNode[]): PlannedNode[] {
  if (!chance.is(0.35)) return [...nodes];
  const chosen = new Map<string, number>();
  for (const { path, role, spaces } of nodes) {
    const hasChildren = nodes.some((other) => isChildOf(other, path));
    if (role !== 'relay' || spaces.length > 0 || !hasChildren || !chance.is(0.7)) continue;
    const isBelowReplicas = [...chosen.keys()].some((other) => isChildOf({ path }, other));
    if (!isBelowReplicas) chosen.set(path, chance.is(0.2) ? 3 : 2);
  }
  return nodes.map((node) => {
    const replicas = chosen.get(node.path);
    return replicas === undefined ? node : { ...node, replicas };
  });
}

export function replicaFaultsOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  const places = nodes.filter(({ replicas }) => replicas !== undefined);
  if (places.length === 0) return [];
  return Array.from({ length: chance.below(6) }, () => replicaFaultOf(chance, nodes, chance.of(places))).flat();
}

function replicaFaultOf(chance: Chance, nodes: readonly PlannedNode[], { path, replicas = 1 }: PlannedNode): Step[] {
  const atMs = 500 + chance.below(spanMs - 500);
  const replica = chance.below(replicas);
  const node = withReplica(path, replica);
  const { path: child } = chance.of(nodes.filter((other) => isChildOf(other, path)));
  const lasting = (begin: Action, end: Action, ms: number): Step[] => [
    { atMs, action: begin },
    { atMs: atMs + ms, action: end },
  ];
  const at = chance.fraction();
  if (at < 0.2) return lasting({ do: 'stop', node }, { do: 'start', node }, chance.below(20_000));
  if (at < 0.35) return [{ atMs, action: { do: 'crash', node, afterEffects: 1 + chance.below(40) } }];
  if (at < 0.42) return [{ atMs, action: { do: 'empty', node } }];
  if (at < 0.52) return lasting({ do: 'backup', node }, { do: 'restore', node }, chance.below(15_000));
  // The replica serves, but receives nothing new.
  if (at < 0.62) return lasting({ do: 'cut', node }, { do: 'mend', node }, chance.below(20_000));
  if (at < 0.7) {
    const slow: Action = { do: 'slow', node, delayMaxMs: 1_000 + chance.below(8_000), bufferBytes: 256 };
    return lasting(slow, { do: 'mend', node }, chance.below(20_000));
  }
  const way = replica;
  if (at < 0.78) return [{ atMs, action: { do: 'reset', node: child, way } }];
  if (at < 0.88)
    return lasting({ do: 'cut', node: child, way }, { do: 'mend', node: child, way }, chance.below(20_000));
  const direction = chance.below(3);
  const silence: Action = { do: 'silence', node: child, way, child: direction !== 1, parent: direction !== 0 };
  return lasting(silence, { do: 'mend', node: child, way }, chance.below(chance.is(0.4) ? 90_000 : 10_000));
}
