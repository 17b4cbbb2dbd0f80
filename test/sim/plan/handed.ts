/**
 * An agent gets a release from one replica and attaches to another replica. The other replica hands out nothing more, because the release is paused by then.
 * The candidate has to stay, and the only reason is the agent's own report.
 */
import type { JsonObject, KubeObject } from '../../../core/object/meta.ts';
import { type Action, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { stagedName, stagedNamespace } from './rollouts.ts';
import { type PlannedNode, parentOf, severalOf, sourcesAbove, withoutOrder } from './tree.ts';

export function handedOf(chance: Chance, nodes: readonly PlannedNode[], sources: readonly string[]): Step[] {
  const several = severalOf(nodes);
  const agents = nodes.filter(
    ({ path, role, isVacant }) => role === 'agent' && !isVacant && several.has(parentOf(path)),
  );
  if (agents.length === 0 || !chance.is(0.5)) return [];
  const { path: node } = chance.of(agents);
  const parent = parentOf(node);
  const source = chance.of(sourcesAbove(sources, parent));
  const beginMs = 2_000 + chance.below(spanMs - 30_000);
  const step = (afterMs: number, action: Action): Step => ({ atMs: beginMs + afterMs, action });
  const apply = (afterMs: number, ...objects: KubeObject[]) => step(afterMs, { do: 'apply', source, objects });
  // The lines to the replicas are cut one after the other, because the agent may be at any replica.
  const ways = Array.from({ length: several.get(parent)! }, (_, way) => way);
  const leavesMs = 12_000;
  return [
    apply(0, placementOf(source, false), objectOf(source, 'v1')),
    apply(5_000, objectOf(source, `v${2 + chance.below(1_000)}`)),
    apply(leavesMs - 1_500, placementOf(source, true)),
    ...ways.flatMap((way) => [
      step(leavesMs + way * 6_000, { do: 'cut', node, way }),
      step(leavesMs + 5_500 + way * 6_000, { do: 'mend', node, way }),
    ]),
    ...(chance.is(0.5) ? [apply(30_000 + chance.below(10_000), placementOf(source, false))] : []),
  ];
}

function objectOf(source: string, value: string): KubeObject {
  const metadata = { name: 'o0', namespace: stagedNamespace(source) };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
}

/** The wave of the release lasts longer than all these steps. */
function placementOf(source: string, paused: boolean): KubeObject {
  const item = { apiGroup: '*', resources: ['configmaps'], namespaces: [stagedNamespace(source)] };
  const waves = [{ name: 'wave-0', fraction: 0.7, soakSeconds: 120 }];
  const rollout: JsonObject = { strategy: 'Progressive', waves, authorizationSeconds: 20, paused };
  const spec = { locationSelectors: [{}], downsync: [item], rollout, move: withoutOrder };
  return { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata: { name: stagedName }, spec };
}
