/** The writes of people while faults happen. */
import {
  type Action,
  type Expression,
  type PlannedObject,
  type PlannedPlacement,
  type Selector,
  type Step,
  spanMs,
} from './action.ts';
import type { Chance } from './chance.ts';
import type { Traffic } from './takeovers.ts';
import { isChildOf, labelsOf, nodeOfSource, type PlannedNode, sourceOf, values } from './tree.ts';

export function workOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  const sources = nodes.flatMap((node) => node.spaces.map((space) => sourceOf(node, space)));
  const agents = nodes.filter(({ role }) => role === 'agent');
  const steps: Step[] = [];
  const add = (atMs: number, action: Action) => steps.push({ atMs, action });
  // These objects exist from the start, so that faults can lose them.
  for (const source of sources) {
    add(1_000, { do: 'place', source, placement: placementOf(chance, source, true) });
    for (let i = 0; i < 2; i++) add(1_000, { do: 'put', source, object: objectOf(chance, source) });
  }
  const count = 4 + chance.below(18);
  for (let i = 0; i < count; i++) add(2_000 + chance.below(spanMs - 2_000), actionOf(chance, sources, agents));
  if (chance.is(0.6)) steps.push(...burstOf(chance, chance.of(sources), nodes));
  if (chance.is(0.2)) {
    const { path: node } = chance.of(agents);
    const atMs = 1_200 + chance.below(6_000);
    add(atMs, { do: 'leave', node });
    add(atMs + chance.below(spanMs), { do: 'join', node });
  }
  return steps;
}

function actionOf(chance: Chance, sources: readonly string[], agents: readonly PlannedNode[]): Action {
  const source = chance.of(sources);
  const at = chance.fraction();
  if (at < 0.4) return { do: 'put', source, object: objectOf(chance, source) };
  if (at < 0.6) {
    const { kind, namespace, name } = objectOf(chance, source);
    return { do: 'delete', source, object: { kind, namespace, name } };
  }
  if (at < 0.75) return { do: 'place', source, placement: placementOf(chance, source, chance.is(0.4)) };
  if (at < 0.8) return { do: 'unplace', source, name: chance.of(placementNames) };
  const { path: node } = chance.of(agents);
  if (at < 0.93) return { do: 'relabel', node, labels: labelsOf(chance, 'env', 'tier') };
  return { do: chance.is(0.5) ? 'leave' : 'join', node };
}

/** One object is written again and again, faster than a disk flushes. In some plans, the process or a connection ends meanwhile. */
function burstOf(chance: Chance, source: string, nodes: readonly PlannedNode[]): Step[] {
  const object = objectOf(chance, source);
  const beginMs = 2_000 + chance.below(spanMs - 2_000);
  const steps = Array.from({ length: 3 + chance.below(6) }, (_, i): Step => {
    const atMs = beginMs + i * (1 + chance.below(40));
    if (chance.is(0.2)) return { atMs, action: { do: 'delete', source, object } };
    return { atMs, action: { do: 'put', source, object: { ...object, value: `v${chance.below(1_000_000)}` } } };
  });
  const atMs = beginMs + chance.below(100);
  if (chance.is(0.5)) {
    const { path: node } = chance.of(nodes.slice(1));
    return [
      ...steps,
      ...[0, 150, 300, 500, 800].map((ms): Step => ({ atMs: atMs + ms, action: { do: 'reset', node } })),
    ];
  }
  const node = nodeOfSource(source);
  return [...steps, { atMs, action: { do: 'crash', node, afterEffects: 1 + chance.below(20) } }];
}

/** Some writes to one space. */
export function trafficOf(chance: Chance, nodes: readonly PlannedNode[]): Traffic {
  const sources = nodes.flatMap((node) => node.spaces.map((space) => sourceOf(node, space)));
  const source = chance.of(sources.filter((one) => nodes.some(({ path }) => isChildOf({ path }, nodeOfSource(one)))));
  return { source, objects: Array.from({ length: 8 }, () => objectOf(chance, source)) };
}

const placementNames = ['first', 'second', 'third'];

/** Each source has its own namespaces: conflicts between sources are tested elsewhere. */
function namespacesOf(source: string): string[] {
  return ['a', 'b'].map((suffix) => `w-${source.replaceAll('.', '-')}-${suffix}`);
}

export function objectOf(chance: Chance, source: string): PlannedObject {
  return {
    kind: chance.is(0.93) ? 'ConfigMap' : 'Deployment',
    namespace: chance.of(namespacesOf(source)),
    name: `o${chance.below(4)}`,
    value: `v${chance.below(1_000_000)}`,
    labels: chance.is(0.5) ? { part: chance.of(['front', 'back']) } : {},
  };
}

function placementOf(chance: Chance, source: string, isWide: boolean): PlannedPlacement {
  const expression: Expression | undefined = chance.is(0.25)
    ? { key: 'env', value: chance.of(values.env!), has: chance.is(0.6) }
    : undefined;
  const selectors = isWide ? [{}] : Array.from({ length: 1 + chance.below(2) }, () => selectorOf(chance));
  return {
    name: chance.of(placementNames),
    selectors: expression && chance.is(0.5) ? [] : selectors,
    ...(expression ? { expression } : {}),
    namespaces: chance.is(0.6) ? namespacesOf(source) : [chance.of(namespacesOf(source))],
    resources: chance.is(0.7) ? ['configmaps', 'deployments'] : ['configmaps'],
    ...(chance.is(0.2) ? { only: { part: chance.of(['front', 'back']) } } : {}),
  };
}

function selectorOf(chance: Chance): Selector {
  const key = chance.of(['env', 'tier', 'region']);
  const value = chance.of(values[key]!);
  const at = chance.fraction();
  if (at < 0.5) return { matchLabels: { [key]: value } };
  if (at < 0.7) return { matchExpressions: [{ key, operator: 'NotIn', values: [value] }] };
  if (at < 0.85) return { matchExpressions: [{ key, operator: 'In', values: values[key]!.slice(0, 2) }] };
  return { matchExpressions: [{ key, operator: chance.is(0.5) ? 'Exists' : 'DoesNotExist' }] };
}
