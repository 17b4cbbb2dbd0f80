/**
 * A relay below replicas reports new labels to one of them. Then, while nobody writes anything, it attaches to another replica that has not received these
 * labels. The objects that the new labels match have to stay. At that moment, the relay may be killed, so that it is not ready when it attaches, or it may
 * lose its store. Or it has lost its store before it reported the labels: then the other replica knows an older store incarnation of the relay.
 */
import { withReplica } from '../../../core/identity/replica.ts';
import { type PlannedObject, type PlannedPlacement, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { isChildOf, type PlannedNode, parentOf, severalOf, sourcesAbove } from './tree.ts';

export interface ReportedElsewhere {
  readonly steps: readonly Step[];
  /** The phase in which nobody writes anything. */
  readonly quiet: readonly Step[];
}

const nothing: ReportedElsewhere = { steps: [], quiet: [] };

export function reportedElsewhereOf(
  chance: Chance,
  nodes: readonly PlannedNode[],
  sources: readonly string[],
): ReportedElsewhere {
  const several = severalOf(nodes);
  const agentsOf = (relay: string) => nodes.filter((node) => node.role === 'agent' && isChildOf(node, relay));
  const relays = nodes.filter(({ path, role, isVacant }) => {
    return role === 'relay' && !isVacant && several.has(parentOf(path)) && agentsOf(path).length > 0;
  });
  if (relays.length === 0 || !chance.is(0.6)) return nothing;
  const { path: node, spaces } = chance.of(relays);
  const { path: agent } = chance.of(agentsOf(node));
  const parent = parentOf(node);
  const source = chance.of(sourcesAbove(sources, parent));
  const namespace = `w-${source.replaceAll('.', '-')}-told`;
  const object: PlannedObject = { kind: 'ConfigMap', namespace, name: 'told', value: 'v1', labels: {} };
  const placement: PlannedPlacement = {
    name: 'told',
    selectors: [{ matchLabels: { told: 'elsewhere' } }],
    namespaces: [namespace],
    resources: ['configmaps'],
  };
  const ways = several.get(parent)!;
  const late = chance.below(ways);
  const others = Array.from({ length: ways }, (_, way) => way).filter((way) => way !== late);
  const goesMs = 1_000 + chance.below(10_000);
  const quiet: Step[] = others.flatMap((way): Step[] => [
    { atMs: goesMs, action: { do: 'cut', node, way } },
    { atMs: goesMs + 20_000, action: { do: 'mend', node, way } },
  ]);
  // An origin that loses its store loses its objects. `lostOriginOf` covers this case.
  const isLosable = spaces.length === 0;
  const at = chance.fraction();
  if (at < 0.4) quiet.push({ atMs: goesMs, action: { do: 'crash', node, afterEffects: 1 } });
  else if (at < 0.6 && isLosable) quiet.push({ atMs: goesMs + 100, action: { do: 'empty', node } });
  const lost: Step[] = isLosable && chance.is(0.4) ? [{ atMs: spanMs - 8_000, action: { do: 'empty', node } }] : [];
  return {
    steps: [
      ...lost,
      { atMs: 3_000, action: { do: 'place', source, placement } },
      { atMs: 3_000, action: { do: 'put', source, object } },
      { atMs: spanMs - 12_000, action: { do: 'stop', node: withReplica(parent, late) } },
      { atMs: spanMs - 1_000, action: { do: 'relabel', node: agent, labels: { told: 'elsewhere' } } },
    ],
    quiet,
  };
}
