/** A theme of the workload: a placement whose releases go out in waves. The placement changes while faults happen. Three of ten runs have this theme. */
import type { JsonObject, KubeObject } from '../../../core/object/meta.ts';
import { type Action, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { type PlannedNode, sourceOf, values, withoutOrder } from './tree.ts';

export const stagedName = 'staged';
const share = 0.3;
const gateName = 'go';

/** The namespace of the staged objects. It is separate, so that no other placement delivers these objects at once. */
export function stagedNamespace(source: string): string {
  return `w-${source.replaceAll('.', '-')}-staged`;
}

export function rolloutsOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(share)) return [];
  const source = chance.of(nodes.flatMap((node) => node.spaces.map((space) => sourceOf(node, space))));
  const steps: Step[] = [];
  const add = (atMs: number, action: Action) => steps.push({ atMs, action });
  const hasGate = chance.is(0.3);
  const beginMs = 1_000 + chance.below(4_000);
  add(beginMs, { do: 'apply', source, objects: [placementOf(chance, source, hasGate)] });
  for (const name of ['o0', 'o1']) add(beginMs, { do: 'apply', source, objects: [objectOf(chance, source, name, 0)] });
  const count = 2 + chance.below(5);
  for (let i = 0; i < count; i++) {
    const atMs = beginMs + 3_000 + chance.below(spanMs - beginMs - 3_000);
    for (const action of releaseOf(chance, source, hasGate)) add(atMs, action);
  }
  if (hasGate) {
    for (const phase of ['Passed', 'Waiting', chance.is(0.8) ? 'Passed' : 'Failed'] as const) {
      add(beginMs + chance.below(spanMs - beginMs), { do: 'answer', source, gate: gateName, phase });
    }
  }
  return steps;
}

/** Whether a placement of the plan goes out in waves. */
export function hasReleases({ steps }: { readonly steps: readonly Step[] }): boolean {
  return steps.some(
    ({ action }) => action.do === 'apply' && action.objects.some(({ metadata }) => metadata.name === stagedName),
  );
}

function releaseOf(chance: Chance, source: string, hasGate: boolean): Action[] {
  const at = chance.fraction();
  const name = chance.of(['o0', 'o1', 'o2']);
  const put = (one: string): Action => ({ do: 'apply', source, objects: [objectOf(chance, source, one, 0.25)] });
  if (at < 0.6) return [put(name)];
  if (at < 0.75) return [put('o0'), put('o1')];
  if (at < 0.85) return [{ do: 'remove', source, object: objectOf(chance, source, name, 0) }];
  return [{ do: 'apply', source, objects: [placementOf(chance, source, hasGate)] }];
}

/** The last of the objects may be broken: a Deployment whose image can't be pulled. */
function objectOf(chance: Chance, source: string, name: string, broken: number): KubeObject {
  const metadata = { name, namespace: stagedNamespace(source) };
  const value = `v${chance.below(1_000_000)}`;
  if (name !== 'o1') return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
  const app = { app: name };
  const image = `example.com/${value}:${chance.is(broken) ? 'broken' : 'fine'}`;
  const template = { metadata: { labels: app }, spec: { containers: [{ name: 'main', image }] } };
  const spec = { replicas: 1, selector: { matchLabels: app }, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec };
}

function placementOf(chance: Chance, source: string, hasGate: boolean): KubeObject {
  const item = { apiGroup: '*', resources: ['configmaps', 'deployments'], namespaces: [stagedNamespace(source)] };
  const rollout: JsonObject = chance.is(0.12) ? { strategy: 'All' } : progressive(chance, hasGate);
  const spec = { locationSelectors: [{}], downsync: [item], rollout, move: withoutOrder };
  return { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata: { name: stagedName }, spec };
}

function progressive(chance: Chance, hasGate: boolean): JsonObject {
  return {
    strategy: 'Progressive',
    waves: wavesOf(chance, hasGate),
    onFailure: chance.is(0.5) ? 'Pause' : 'Rollback',
    errorBudget: chance.of(['10%', '50%', 2]),
    progressDeadlineSeconds: 10 + chance.below(110),
    authorizationSeconds: 3 + chance.below(20),
    ...(chance.is(0.3) ? { maxUnavailable: chance.of(['20%', 1]) } : {}),
    ...(chance.is(0.2) ? { ratePerMinute: 60 + chance.below(200) } : {}),
    ...(chance.is(0.08) ? { paused: true } : {}),
  };
}

function wavesOf(chance: Chance, hasGate: boolean): JsonObject[] {
  const env = values.env!;
  const kinds: JsonObject[] = [
    { selector: { matchLabels: { env: chance.of(env) } } },
    { count: 1 + chance.below(2) },
    { fraction: 0.2 + chance.below(4) / 10 },
    { fraction: 0.7 },
  ];
  const chosen = kinds.filter(() => chance.is(0.5));
  return chosen.map((wave, index) => ({
    name: `wave-${index}`,
    ...wave,
    soakSeconds: chance.below(5),
    ...(hasGate && index === 0 ? { gates: [{ rolloutGate: gateName }] } : {}),
  }));
}
