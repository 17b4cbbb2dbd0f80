/**
 * A theme of the workload: objects that are customized for each destination, and their summary. Meanwhile, labels, annotations and properties of places
 * change, which Customizers, expressions and groups read. A fifth of the runs have this theme.
 */
import type { JsonObject, KubeObject } from '../../../core/object/meta.ts';
import { type Action, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { type PlannedNode, sourceOf, values, withoutOrder } from './tree.ts';

const share = 0.2;
const summarizerName = 'sums';
const customizerName = 'made';

export function madeNamespace(source: string): string {
  return `w-${source.replaceAll('.', '-')}-made`;
}

export function madeOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(share)) return [];
  const source = chance.of(nodes.flatMap((node) => node.spaces.map((space) => sourceOf(node, space))));
  const agents = nodes.filter(({ role }) => role === 'agent');
  const steps: Step[] = [];
  const add = (atMs: number, action: Action) => steps.push({ atMs, action });
  const apply = (...objects: KubeObject[]): Action => ({ do: 'apply', source, objects });
  const beginMs = 1_000 + chance.below(4_000);
  add(beginMs, apply(summarizerOf(), placementOf(chance, source)));
  for (const name of ['o0', 'o1']) add(beginMs, apply(customizerOf(chance, source), objectOf(chance, source, name)));
  const count = 4 + chance.below(10);
  for (let i = 0; i < count; i++) {
    add(beginMs + 500 + chance.below(spanMs - beginMs - 500), actionOf(chance, source, agents));
  }
  return steps;
}

function actionOf(chance: Chance, source: string, agents: readonly PlannedNode[]): Action {
  const at = chance.fraction();
  const name = chance.of(['o0', 'o1', 'o2']);
  if (at < 0.25) return { do: 'apply', source, objects: [customizerOf(chance, source)] };
  if (at < 0.4) {
    // The Customizer is written first: an object that names a missing Customizer does not change.
    return { do: 'apply', source, objects: [customizerOf(chance, source), objectOf(chance, source, name)] };
  }
  if (at < 0.47) return { do: 'remove', source, object: objectOf(chance, source, name) };
  if (at < 0.55) return { do: 'apply', source, objects: [summarizerOf(), placementOf(chance, source)] };
  const { path: node } = chance.of(agents);
  const properties = { tills: `${1 + chance.below(3)}`, ...(chance.is(0.5) ? { zone: chance.of(['n', 's']) } : {}) };
  return { do: 'describe', node, properties, annotations: chance.is(0.5) ? { store: `s${chance.below(9)}` } : {} };
}

function objectOf(chance: Chance, source: string, name: string): KubeObject {
  const annotations = {
    ...(chance.is(0.75) ? { 'edge.banyan.io/customizer': customizerName } : {}),
    ...(chance.is(0.4) ? { 'edge.banyan.io/expand-parameters': 'true' } : {}),
  };
  const data = { value: `v${chance.below(1_000_000)} of %(tills)`, n: `${chance.below(100)}`, shop: 'unset' };
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: madeNamespace(source), annotations },
    data,
  };
}

/** Expressions that never fail. If a rule failed, the destination would keep the old object, whatever it was. */
const reads = [
  '"tier" in location.metadata.labels ? location.metadata.labels["tier"] : "none"',
  '"env" in location.metadata.labels ? location.metadata.labels["env"] : "none"',
  '"zone" in properties ? properties["zone"] : "none"',
  '"store" in location.metadata.annotations ? location.metadata.annotations["store"] : "none"',
  'path',
];

function customizerOf(chance: Chance, source: string): KubeObject {
  const add = (path: string, value: string): JsonObject => ({ op: 'add', path, value });
  const patch = [
    add('/data/at', `at ${chance.below(100)} \${{ ${chance.of(reads)} }}`),
    ...(chance.is(0.5) ? [add('/data/n', `\${{ properties["tills"] }}`)] : []),
  ];
  const when = `"env" in location.metadata.labels && location.metadata.labels["env"] == "${chance.of(values.env!)}"`;
  const rule = { ...(chance.is(0.4) ? { when } : {}), target: { kind: 'ConfigMap' }, patch };
  const replacements = [{ path: '$.data.shop', value: `shop \${{ ${chance.of(reads)} }}` }];
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'Customizer',
    metadata: { name: customizerName, namespace: madeNamespace(source) },
    spec: { rules: [rule], replacements: chance.is(0.7) ? replacements : [] },
  };
}

function summarizerOf(): KubeObject {
  const subject = 'int(obj.data.n)';
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'StatusSummarizer',
    metadata: { name: summarizerName },
    spec: {
      groupBy: [{ name: 'env', def: '"env" in inventory.labels ? inventory.labels["env"] : "none"' }],
      combinedFields: [
        { name: 'rows', type: 'COUNT' },
        ...['SUM', 'MIN', 'MAX'].map((type) => ({ name: type.toLowerCase(), type, subject })),
      ],
    },
  };
}

function placementOf(chance: Chance, source: string): KubeObject {
  const item = {
    apiGroup: '*',
    resources: ['configmaps'],
    namespaces: [madeNamespace(source)],
    statusSummarizers: [summarizerName],
  };
  const tills = `"tills" in properties && properties["tills"] == "${1 + chance.below(3)}"`;
  const where: JsonObject = chance.is(0.4)
    ? { locationExpression: chance.is(0.7) ? tills : `!(${tills})` }
    : { locationSelectors: [chance.is(0.6) ? {} : { matchLabels: { env: chance.of(values.env!) } }] };
  return {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'made' },
    spec: { ...where, downsync: [item], move: withoutOrder },
  };
}
