/** Invariant 11, after healing: what a StatusSummary says is a fold over the leaves, here a sum over what each agent was to get. */
import { stableStringify } from '../../../core/object/canonical.ts';
import type { Delivered, ModelPlacement } from '../model/expected.ts';
import { summarizerName } from '../plan/made.ts';

interface Summary {
  readonly rows?: readonly { readonly columns: readonly unknown[] }[];
  readonly total?: number;
  readonly rowErrors?: { readonly count: number };
  readonly completeness?: Readonly<Record<string, number>>;
}

/** Undefined: it is right, or the placement asks for none. All of its agents are reached. */
export function userSummaryWrong({ host, space, object, agents, delivered }: ModelPlacement): string | undefined {
  const { downsync = [] } = object.spec as { downsync?: { statusSummarizers?: string[] }[] };
  if (!downsync.some(({ statusSummarizers = [] }) => statusSummarizers.includes(summarizerName))) return undefined;
  const name = `${object.metadata.name}.${summarizerName}`;
  const key = { group: 'edge.banyan.io', resource: 'statussummaries', namespace: '', name };
  const summary = host.spaces.get(space)?.get(key) as Summary | undefined;
  const title = `${host.title}/${space} ${name}`;
  const { rows = [], completeness = {} } = summary ?? {};
  const told = rows.map(({ columns }) => stableStringify(columns)).sort();
  const should = fold(delivered).sort();
  if (stableStringify(told) !== stableStringify(should))
    return `${title} has ${told.join(' ')}, expected ${should.join(' ')}`;
  if (!summary) return should.length > 0 ? `there is no ${title}` : undefined;
  const { expected, fresh, outdated } = completeness;
  if (expected === agents.length && fresh === agents.length && outdated === 0) return undefined;
  return `${title} is of ${stableStringify(completeness)}, expected ${agents.length} places`;
}

/** By the label env: how many objects, and sum, least and greatest of what they say in `n`. */
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
