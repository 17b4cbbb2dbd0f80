/**
 * What one seed decides: a tree, and steps at their times. All of it is data, and each step stands by itself: one whose node or object is not there
 * is passed over, so that a failing run is made smaller by leaving nodes and steps out.
 */
import { SeededRandom } from '../../core/runtime/random.ts';
import { seedOf } from './seeds.ts';

export type Labels = Readonly<Record<string, string>>;
export type Mode = 'safety' | 'liveness';

export interface PlannedNode {
  readonly path: string;
  readonly role: 'center' | 'relay' | 'agent';
  readonly labels: Labels;
  /** Of workloads. */
  readonly spaces: readonly string[];
}

export interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

/** `has`: the label has this value; otherwise it has not. */
export interface Expression {
  readonly key: string;
  readonly value: string;
  readonly has: boolean;
}

export interface PlannedPlacement {
  readonly name: string;
  readonly selectors: readonly Selector[];
  readonly expression?: Expression;
  readonly namespaces: readonly string[];
  readonly resources: readonly string[];
  /** Only objects with this label. */
  readonly only?: Labels;
}

export interface PlannedObject {
  readonly kind: 'ConfigMap' | 'Deployment';
  readonly namespace: string;
  readonly name: string;
  readonly value: string;
  readonly labels: Labels;
}

export type Action =
  // What people do.
  | { readonly do: 'put'; readonly source: string; readonly object: PlannedObject }
  | {
      readonly do: 'delete';
      readonly source: string;
      readonly object: Pick<PlannedObject, 'kind' | 'namespace' | 'name'>;
    }
  | { readonly do: 'place'; readonly source: string; readonly placement: PlannedPlacement }
  | { readonly do: 'unplace'; readonly source: string; readonly name: string }
  | { readonly do: 'relabel'; readonly node: string; readonly labels: Labels }
  | { readonly do: 'leave' | 'join'; readonly node: string }
  // What goes wrong.
  | { readonly do: 'crash'; readonly node: string; readonly afterEffects: number }
  | { readonly do: 'stop' | 'start'; readonly node: string }
  | { readonly do: 'empty' | 'backup' | 'restore'; readonly node: string }
  | { readonly do: 'reset' | 'cut' | 'mend'; readonly node: string }
  | { readonly do: 'silence'; readonly node: string; readonly child: boolean; readonly parent: boolean }
  | { readonly do: 'slow'; readonly node: string; readonly delayMaxMs: number; readonly bufferBytes: number }
  | { readonly do: 'double'; readonly node: string; readonly share: number }
  | { readonly do: 'fill' | 'tidy'; readonly node: string }
  | { readonly do: 'jump'; readonly node: string; readonly ms: number }
  | { readonly do: 'clone' | 'unclone'; readonly node: string };

export interface Step {
  readonly atMs: number;
  readonly action: Action;
}

export interface Plan {
  readonly seed: number;
  readonly mode: Mode;
  /** Parents before children; the first is the center. */
  readonly nodes: readonly PlannedNode[];
  /** People work and things go wrong. */
  readonly steps: readonly Step[];
  /** After all has healed once: things go wrong, and nobody does anything. */
  readonly quiet: readonly Step[];
  /** Children whose lines stay dead while the rest heals. */
  readonly dead: readonly string[];
  /** A node at which objects are born loses some of them: what is below keeps what is newer, so that nothing is compared in the end. */
  readonly forgets: boolean;
}

const depthMax = 4;
const spanMs = 40_000;

export function planOf(seed: number, mode: Mode): Plan {
  const chance = new Chance(seedOf(seed, 'plan'));
  const nodes = treeOf(chance);
  const origins = nodes.filter(({ spaces }) => spaces.length > 0);
  const forgets = mode === 'safety' && chance.is(0.06) ? lostOriginOf(chance, chance.of(origins)) : [];
  const steps = [...workOf(chance, nodes), ...faultsOf(chance, nodes, 'work'), ...forgets].sort(byTime);
  const quiet = forgets.length === 0 && chance.is(0.35) ? faultsOf(chance, nodes, 'quiet').sort(byTime) : [];
  const children = nodes.slice(1).map(({ path }) => path);
  const dead = mode === 'liveness' && chance.is(0.7) ? children.filter(() => chance.is(1.2 / children.length)) : [];
  return { seed, mode, nodes, steps, quiet, dead, forgets: forgets.length > 0 };
}

function byTime(a: Step, b: Step): number {
  return a.atMs - b.atMs;
}

// --------------------------------------------------------------------------------------------------------- the tree

/** Most trees are small: a fault needs few nodes to show. */
function sizeOf(chance: Chance): number {
  const at = chance.fraction();
  if (at < 0.88) return 2 + chance.below(5);
  if (at < 0.98) return 7 + chance.below(8);
  return at < 0.997 ? 16 + chance.below(16) : 32 + chance.below(29);
}

function treeOf(chance: Chance): PlannedNode[] {
  const size = sizeOf(chance);
  const nodes: PlannedNode[] = [{ path: '', role: 'center', labels: {}, spaces: ['retail'] }];
  while (nodes.length < size) {
    const relays = nodes.filter(({ role, path }) => role !== 'agent' && depthOf(path) < depthMax);
    // The newest relay mostly: a chain is deeper than a star.
    const parent = chance.is(0.5) ? relays.at(-1)! : chance.of(relays);
    const isRelay = depthOf(parent.path) < depthMax - 1 && nodes.length + 1 < size && chance.is(0.4);
    const name = `${isRelay ? 'r' : 'a'}${nodes.length}`;
    nodes.push({
      path: parent.path === '' ? name : `${parent.path}:${name}`,
      role: isRelay ? 'relay' : 'agent',
      labels: isRelay ? labelsOf(chance, 'region') : labelsOf(chance, 'env', 'tier'),
      spaces: isRelay && chance.is(0.25) ? ['ops'] : [],
    });
  }
  return nodes;
}

export function depthOf(path: string): number {
  return path === '' ? 0 : path.split(':').length;
}

export function sourceOf(node: PlannedNode, space: string): string {
  return `${node.path === '' ? 'center' : node.path.replaceAll(':', '.')}.${space}`;
}

export function nodeOfSource(source: string): string {
  const node = source.slice(0, source.lastIndexOf('.'));
  return node === 'center' ? '' : node.replaceAll('.', ':');
}

const values: Readonly<Record<string, readonly string[]>> = {
  env: ['prod', 'test'],
  tier: ['one', 'two', 'three'],
  region: ['eu', 'us'],
};

function labelsOf(chance: Chance, ...keys: readonly string[]): Labels {
  const given = keys.filter(() => chance.is(0.85));
  return Object.fromEntries(given.map((key) => [key, chance.of(values[key]!)]));
}

// --------------------------------------------------------------------------------------------------------- the work

function workOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  const sources = nodes.flatMap((node) => node.spaces.map((space) => sourceOf(node, space)));
  const agents = nodes.filter(({ role }) => role === 'agent');
  const steps: Step[] = [];
  const add = (atMs: number, action: Action) => steps.push({ atMs, action });
  // Something to lose from the start.
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

/** One object again and again, faster than a disk flushes, and perhaps the end of the process or of a connection in the middle. */
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

const placementNames = ['first', 'second', 'third'];

/** Each source has namespaces of its own: who wins over whom is another test's matter. */
function namespacesOf(source: string): string[] {
  return ['a', 'b'].map((suffix) => `w-${source.replaceAll('.', '-')}-${suffix}`);
}

function objectOf(chance: Chance, source: string): PlannedObject {
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

// ------------------------------------------------------------------------------------------------------- the faults

function faultsOf(chance: Chance, nodes: readonly PlannedNode[], phase: 'work' | 'quiet'): Step[] {
  const steps: Step[] = [];
  const count = chance.below(4 + nodes.length);
  for (let i = 0; i < count; i++) steps.push(...faultOf(chance, nodes, phase));
  return steps;
}

/** An origin is put back to what it was two starts ago. */
function lostOriginOf(chance: Chance, { path: node }: PlannedNode): Step[] {
  const atMs = 2_000 + chance.below(8_000);
  const crash = (afterMs: number): Step => ({ atMs: atMs + afterMs, action: { do: 'crash', node, afterEffects: 1 } });
  const restoredMs = 8_000 + chance.below(20_000);
  return [
    { atMs, action: { do: 'backup', node } },
    crash(100),
    crash(3_000),
    { atMs: atMs + restoredMs, action: { do: 'restore', node } },
  ];
}

/** Some last: then their end is a step as well. */
function faultOf(chance: Chance, nodes: readonly PlannedNode[], phase: 'work' | 'quiet'): Step[] {
  const atMs = 500 + chance.below(spanMs - 500);
  const lasting = (begin: Action, end: Action, ms: number): Step[] => [
    { atMs, action: begin },
    { atMs: atMs + ms, action: end },
  ];
  const any = chance.of(nodes);
  const { path: child } = chance.of(nodes.slice(1));
  // Nodes that nothing is born at: what is lost there, others still have.
  const losable = nodes.slice(1).filter(({ spaces }) => spaces.length === 0);
  const at = chance.fraction();
  if (at < 0.3) {
    const afterEffects = 1 + Math.floor(60 * chance.fraction() ** 2);
    return [{ atMs, action: { do: 'crash', node: any.path, afterEffects } }];
  }
  if (at < 0.4) return lasting({ do: 'stop', node: any.path }, { do: 'start', node: any.path }, chance.below(20_000));
  if (at < 0.5 && losable.length > 0) return [{ atMs, action: { do: 'empty', node: chance.of(losable).path } }];
  if (at < 0.6 && losable.length > 0) {
    const { path: node } = chance.of(losable);
    return lasting({ do: 'backup', node }, { do: 'restore', node }, chance.below(15_000));
  }
  if (at < 0.68) return [{ atMs, action: { do: 'reset', node: child } }];
  if (at < 0.74) return lasting({ do: 'cut', node: child }, { do: 'mend', node: child }, chance.below(20_000));
  if (at < 0.82) {
    const way = chance.below(3);
    const silence: Action = { do: 'silence', node: child, child: way !== 1, parent: way !== 0 };
    return lasting(silence, { do: 'mend', node: child }, chance.below(chance.is(0.3) ? 90_000 : 10_000));
  }
  if (at < 0.87) {
    const slow: Action = { do: 'slow', node: child, delayMaxMs: 100 + chance.below(3_000), bufferBytes: 256 };
    return lasting(slow, { do: 'mend', node: child }, chance.below(20_000));
  }
  if (at < 0.91) return [{ atMs, action: { do: 'double', node: child, share: 0.3 } }];
  if (at < 0.94) return lasting({ do: 'fill', node: any.path }, { do: 'tidy', node: any.path }, chance.below(8_000));
  if (at < 0.97) return [{ atMs, action: { do: 'jump', node: any.path, ms: chance.below(7_200_000) - 3_600_000 } }];
  if (phase === 'quiet') return [];
  return lasting({ do: 'clone', node: child }, { do: 'unclone', node: child }, chance.below(20_000));
}

/** Chance with words. */
export class Chance {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  fraction(): number {
    return this.#random.fraction();
  }

  is(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** Uniform in [0, max). */
  below(max: number): number {
    return Math.floor(this.fraction() * max);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}
