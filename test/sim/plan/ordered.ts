/**
 * A theme of the workload: a placement whose copies move in a fixed order (`spec.move`). Meanwhile, the placement, its objects and the labels of places
 * change. A fifth of the runs have this theme. Mostly the deadline is after the end of the run, so that a waiting copy needs a grant.
 */
import type { JsonObject, KubeObject } from '../../../core/object/meta.ts';
import { type Action, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { labelsOf, type PlannedNode, sourceOf, values } from './tree.ts';

const share = 0.2;
export const orderedName = 'ordered';
/** The deadline of a placement whose moves end only by a grant. */
const neverSeconds = 36_000;

export function orderedNamespace(source: string): string {
  return `w-${source.replaceAll('.', '-')}-ordered`;
}

/** `mayWait`: every agent is present at the end, so that no copy waits for an absent agent. */
export function orderedOf(chance: Chance, nodes: readonly PlannedNode[], mayWait: boolean): Step[] {
  if (!chance.is(share)) return [];
  const source = chance.of(nodes.flatMap((node) => node.spaces.map((space) => sourceOf(node, space))));
  const agents = nodes.filter(({ role, isVacant }) => role === 'agent' && !isVacant).map(({ path }) => path);
  const move = moveOf(chance, mayWait);
  const steps: Step[] = [];
  const add = (atMs: number, action: Action) => steps.push({ atMs, action });
  const beginMs = 1_000 + chance.below(4_000);
  add(beginMs, { do: 'apply', source, objects: [placementOf(chance, source, move)] });
  for (const name of ['o0', 'o1']) add(beginMs, { do: 'apply', source, objects: [objectOf(chance, source, name)] });
  const count = 3 + chance.below(8);
  for (let i = 0; i < count; i++) {
    add(beginMs + 500 + chance.below(spanMs - beginMs - 500), actionOf(chance, source, agents, move));
  }
  return steps;
}

/** Whether a placement of the plan moves in a fixed order. */
export function hasOrder({ steps }: { readonly steps: readonly Step[] }): boolean {
  return moveIn(steps) !== undefined;
}

/** Whether an old copy stays until its replacement is available. The `spec.move` of the placement decides this, and does not change in a run. */
export function keepsLast(placement: KubeObject): boolean {
  const move = moveSpecIn(placement);
  return move !== undefined && move.strategy !== 'BreakBeforeMake' && move.deadlineSeconds === neverSeconds;
}

function moveOf(chance: Chance, mayWait: boolean): JsonObject {
  const strategy = chance.of(['MakeBeforeBreak', 'BreakBeforeMake', 'Auto']);
  return { strategy, deadlineSeconds: mayWait && chance.is(0.7) ? neverSeconds : 5 + chance.below(55) };
}

/** Faults after which a node has lost a copy, or no longer knows about a copy. */
const takes = new Set<Action['do']>(['leave', 'unlist', 'move', 'restore', 'empty', 'clone', 'lie']);

/** Whether the promises need not hold after this action. Labels at different nodes change independently, which BreakBeforeMake can't know (decision 0017). */
function disturbs(action: Action, { strategy }: Move): boolean {
  if (action.do === 'remove') return action.object.metadata.name === orderedName;
  return takes.has(action.do) || (action.do === 'relabel' && strategy === 'BreakBeforeMake');
}

export function isUndisturbed(steps: readonly Step[]): boolean {
  const move = moveIn(steps);
  return move !== undefined && !steps.some(({ action }) => disturbs(action, move));
}

/** Removes the disturbing faults from some plans. Otherwise nearly all runs would have some of these faults. */
export function calmed(chance: Chance, steps: readonly Step[]): Step[] {
  const move = moveIn(steps);
  return move && chance.is(0.4) ? steps.filter(({ action }) => !disturbs(action, move)) : [...steps];
}

interface Move {
  readonly strategy: string;
  readonly deadlineSeconds: number;
}

/** The `spec.move` that all forms of the placement have. */
function moveIn(steps: readonly Step[]): Move | undefined {
  for (const { action } of steps) {
    const found = action.do === 'apply' && action.objects.find(({ metadata }) => metadata.name === orderedName);
    if (found) return moveSpecIn(found);
  }
  return undefined;
}

function moveSpecIn({ spec }: KubeObject): Move | undefined {
  return (spec as { move?: Move } | undefined)?.move;
}

/** Whether the number of copies that run at the same time is never higher than some form of the placement wanted. */
export function runsNoMore(placement: KubeObject): boolean {
  const move = moveSpecIn(placement);
  return move?.strategy === 'BreakBeforeMake' && move.deadlineSeconds === neverSeconds;
}

function actionOf(chance: Chance, source: string, agents: readonly string[], move: JsonObject): Action {
  const at = chance.fraction();
  if (at < 0.5) return { do: 'apply', source, objects: [placementOf(chance, source, move)] };
  if (at < 0.7) return { do: 'apply', source, objects: [objectOf(chance, source, chance.of(['o0', 'o1', 'o2']))] };
  if (at < 0.77) return { do: 'remove', source, object: objectOf(chance, source, 'o2') };
  if (at < 0.8) return { do: 'remove', source, object: placementOf(chance, source, move) };
  return { do: 'relabel', node: chance.of(agents), labels: labelsOf(chance, 'env', 'tier') };
}

function objectOf(chance: Chance, source: string, name: string): KubeObject {
  const metadata = { name, namespace: orderedNamespace(source) };
  const value = `v${chance.below(1_000_000)}`;
  if (name !== 'o1') return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
  const app = { app: name };
  const template = {
    metadata: { labels: app },
    spec: { containers: [{ name: 'main', image: `example.com/${value}` }] },
  };
  const spec = { replicas: 1, selector: { matchLabels: app }, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec };
}

function placementOf(chance: Chance, source: string, move: JsonObject): KubeObject {
  const key = chance.of(['env', 'tier']);
  const selector: JsonObject = chance.is(0.15) ? {} : { matchLabels: { [key]: chance.of(values[key]!) } };
  const item = { apiGroup: '*', resources: ['configmaps', 'deployments'], namespaces: [orderedNamespace(source)] };
  const spec = { locationSelectors: [selector], downsync: [item], move };
  return { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata: { name: orderedName }, spec };
}
