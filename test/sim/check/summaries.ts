/** Invariant 11, after healing: a StatusSummary is a fold over the leaves. In the simulation, the fold is a sum over the objects that each agent has to get. */
import type { Space } from '../../../core/apiserver/space.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Delivered } from '../model/expected.ts';

export interface Summary {
  readonly rows?: readonly { readonly columns: readonly unknown[] }[];
  readonly completeness?: Readonly<Record<string, number>>;
}

/** Names of the summarizers of a placement's objects. */
export function summarizersOf({ spec }: KubeObject): string[] {
  const { downsync = [] } = spec as { downsync?: { statusSummarizers?: string[] }[] };
  return [...new Set(downsync.flatMap(({ statusSummarizers = [] }) => statusSummarizers))];
}

export function readSummary(space: Space | undefined, placement: string, summarizer: string): Summary | undefined {
  const name = `${placement}.${summarizer}`;
  const key = { group: 'edge.banyan.io', resource: 'statussummaries', namespace: '', name };
  return space?.get(key) as Summary | undefined;
}

/** Compares the summary with the model. All agents of the placement are reached. Undefined: the summary is right. */
export function summaryWrong(
  summary: Summary | undefined,
  agents: number,
  delivered: readonly Delivered[],
): string | undefined {
  const { rows = [], completeness = {} } = summary ?? {};
  const shown = rows.map(({ columns }) => stableStringify(columns)).sort();
  const should = fold(delivered).sort();
  if (stableStringify(shown) !== stableStringify(should)) return `has ${shown.join(' ')}, expected ${should.join(' ')}`;
  if (!summary) return undefined;
  const { expected, fresh, outdated } = completeness;
  if (expected === agents && fresh === agents && outdated === 0) return undefined;
  return `is of ${stableStringify(completeness)}, expected ${agents} places`;
}

/** Groups the objects by the label env. Each group has the number of objects, and the sum, the minimum and the maximum of their values in `n`. */
function fold(delivered: readonly Delivered[]): string[] {
  const groups = new Map<string, number[]>();
  for (const { place, object } of delivered) {
    const env = place.labels.env ?? 'none';
    const n = Number((object as { data?: { n?: string } }).data?.n);
    groups.set(env, [...(groups.get(env) ?? []), n]);
  }
  return [...groups].map(([env, all]) => {
    const sum = all.reduce((a, b) => a + b, 0);
    return stableStringify([env, all.length, sum, Math.min(...all), Math.max(...all)]);
  });
}
