/**
 * Large objects among small ones, and slow lines that break during the transmission. The contents of these objects are sent in pieces, outside the order of
 * their feed.
 */
import { type PlannedObject, type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import type { PlannedNode } from './tree.ts';

/** Sizes of large objects. A content below 8 KiB is not sent in pieces. An object may have 1.5 MiB, but this would cost a second of a run. */
const [paddingMin, paddingMax] = [9_000, 250_000];
/** 50 kbit/s, and two faster lines. */
const thinBytesPerSecond = [6_250, 20_000, 60_000] as const;

export function burdensOf(
  chance: Chance,
  nodes: readonly PlannedNode[],
  sources: readonly string[],
  objectOf: (source: string) => PlannedObject,
): Step[] {
  if (chance.is(0.03)) return manyOf(chance, nodes, sources, objectOf);
  if (!chance.is(0.2)) return [];
  const steps: Step[] = [];
  const source = chance.of(sources);
  const { path: node } = chance.of(nodes.slice(1));
  const beginMs = 1_500 + chance.below(spanMs / 2);
  const bytesPerSecond = chance.of(thinBytesPerSecond);
  steps.push({ atMs: beginMs, action: { do: 'thin', node, bytesPerSecond } });
  const count = 2 + chance.below(6);
  for (let i = 0; i < count; i++) {
    const atMs = beginMs + chance.below(12_000);
    const padding = Math.floor(paddingMin + (paddingMax - paddingMin) * chance.fraction() ** 3);
    const object = objectOf(source);
    // Some objects stay small, and may overtake the large ones. Some change while they are on their way.
    steps.push({ atMs, action: { do: 'put', source, object: chance.is(0.6) ? { ...object, padding } : object } });
    if (chance.is(0.3)) steps.push({ atMs: atMs + chance.below(4_000), action: { do: 'put', source, object } });
    if (chance.is(0.1)) steps.push({ atMs: atMs + chance.below(4_000), action: { do: 'delete', source, object } });
  }
  const breaks = chance.below(4);
  for (let i = 0; i < breaks; i++) {
    steps.push({
      atMs: beginMs + 1_000 + chance.below(15_000),
      action: chance.is(0.5) ? { do: 'reset', node } : { do: 'crash', node, afterEffects: 1 + chance.below(8) },
    });
  }
  // A node that was emptied meanwhile asks for large contents in a reconciliation.
  if (chance.is(0.4) && nodes.find(({ path }) => path === node)?.spaces.length === 0) {
    steps.push({ atMs: beginMs + chance.below(20_000), action: { do: 'empty', node } });
  }
  steps.push({ atMs: beginMs + 20_000 + chance.below(20_000), action: { do: 'mend', node } });
  return steps;
}

/** More rows than one answer of a reconciliation lists, and after that reconciliations in which few rows differ. */
function manyOf(
  chance: Chance,
  nodes: readonly PlannedNode[],
  sources: readonly string[],
  objectOf: (source: string) => PlannedObject,
): Step[] {
  const source = chance.of(sources);
  const count = 70 + chance.below(20);
  const steps = Array.from({ length: count }, (_, i): Step => {
    const object = { ...objectOf(source), kind: 'ConfigMap' as const, name: `many${i}` };
    return { atMs: 1_500 + i * 10, action: { do: 'put', source, object } };
  });
  const losable = nodes.slice(1).filter(({ spaces }) => spaces.length === 0);
  for (let i = 0; i < 2 && losable.length > 0; i++) {
    const { path: node } = chance.of(losable);
    const atMs = 6_000 + chance.below(20_000);
    steps.push({ atMs, action: { do: 'backup', node } });
    const [lost] = steps;
    if (lost && chance.is(0.5)) steps.push({ ...lost, atMs: atMs + 1_000 });
    steps.push({ atMs: atMs + 5_000, action: { do: chance.is(0.5) ? 'restore' : 'empty', node } });
  }
  return steps;
}
