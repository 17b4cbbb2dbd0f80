/**
 * A theme of the workload: a placement that wants exact status while it has one destination, and objects that are created at the edge and reported upwards
 * because of the placement's rule. A fifth of the runs have this theme.
 */
import type { JsonObject, KubeObject } from '../../../core/object/meta.ts';
import { type Action, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { labelsOf, type PlannedNode, sourceOf, values, withoutOrder } from './tree.ts';

const share = 0.2;

export function reportsOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(share)) return [];
  const source = chance.of(nodes.flatMap((node) => node.spaces.map((space) => sourceOf(node, space))));
  const agents = nodes.filter(({ role }) => role === 'agent').map(({ path }) => path);
  const steps: Step[] = [];
  const add = (atMs: number, action: Action) => steps.push({ atMs, action });
  const beginMs = 1_000 + chance.below(4_000);
  add(beginMs, { do: 'apply', source, objects: [placementOf(chance, source), deploymentOf(chance, source, 'o0')] });
  for (const node of agents) add(beginMs + chance.below(2_000), { do: 'bear', node, object: bornOf(chance, source) });
  const count = 5 + chance.below(12);
  for (let i = 0; i < count; i++) {
    add(beginMs + 500 + chance.below(spanMs - beginMs - 500), actionOf(chance, source, agents));
  }
  return steps;
}

function actionOf(chance: Chance, source: string, agents: readonly string[]): Action {
  const at = chance.fraction();
  const node = chance.of(agents);
  if (at < 0.3) return { do: 'bear', node, object: bornOf(chance, source) };
  if (at < 0.5) return { do: 'bury', node, object: bornOf(chance, source) };
  if (at < 0.65) return { do: 'apply', source, objects: [deploymentOf(chance, source, chance.of(['o0', 'o1']))] };
  if (at < 0.7) return { do: 'remove', source, object: deploymentOf(chance, source, 'o1') };
  if (at < 0.8) return { do: 'apply', source, objects: [placementOf(chance, source)] };
  if (at < 0.84) return { do: 'remove', source, object: placementOf(chance, source) };
  return { do: 'relabel', node, labels: labelsOf(chance, 'env', 'tier') };
}

/** An object that somebody, or a controller of the cluster, creates there. */
function bornOf(chance: Chance, source: string): KubeObject {
  const metadata = { name: `b${chance.below(3)}`, namespace: `e-${source.replaceAll('.', '-')}` };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value: `v${chance.below(1_000_000)}` } };
}

function exactNamespace(source: string): string {
  return `w-${source.replaceAll('.', '-')}-exact`;
}

function deploymentOf(chance: Chance, source: string, name: string): KubeObject {
  const app = { app: name };
  const image = `example.com/v${chance.below(1_000_000)}`;
  const template = { metadata: { labels: app }, spec: { containers: [{ name: 'main', image }] } };
  const spec = { replicas: 1 + chance.below(3), selector: { matchLabels: app }, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: exactNamespace(source) }, spec };
}

function placementOf(chance: Chance, source: string): KubeObject {
  const namespaces = [`e-${source.replaceAll('.', '-')}`];
  const rule: JsonObject = {
    apiGroup: '',
    resources: ['configmaps'],
    namespaces,
    ...(chance.is(0.7) ? { returnTo: 'Center' } : {}),
  };
  const selector: JsonObject = chance.is(0.3) ? {} : { matchLabels: { env: chance.of(values.env!) } };
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'exact' },
    spec: {
      locationSelectors: [selector],
      downsync: [{ apiGroup: 'apps', resources: ['deployments'], namespaces: [exactNamespace(source)] }],
      move: withoutOrder,
      wantSingletonReportedState: chance.is(0.8),
      upsync: chance.is(0.85) ? [rule] : [],
    },
  };
}
