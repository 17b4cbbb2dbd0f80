/** A StatusSummary: its name and its content. */
import { edgeGroup } from '../../../core/apiserver/kinds/edge-placement.ts';
import { timestamp } from '../../../core/object/conditions.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Partial } from '../../../core/summary/partial.ts';
import type { Summarizer } from '../../../core/summary/summarizer.ts';
import { type SummaryTable, summaryTable } from '../../../core/summary/summary-table.ts';
import type { UserPartial } from '../../../core/summary/user-partial.ts';
import { shortDuration, shortNumber } from '../status/placement-status.ts';

export const summaryResource = { group: edgeGroup, resource: 'statussummaries', namespace: '' } as const;
const apiVersion = `${edgeGroup}/v1alpha1`;
const nameMax = 253;

export interface SummaryContent extends SummaryTable {
  readonly placement: string;
  readonly summarizer: string;
  readonly completeness: Completeness;
}

export interface Completeness {
  readonly display: string;
  readonly expected: number;
  readonly fresh: number;
  readonly stale: number;
  readonly never: number;
  readonly quarantined: number;
  readonly outdated: number;
  readonly oldestSince?: string;
}

/**
 * Returns `PLACEMENT.SUMMARIZER`. If this is too long for a name, or if the name of the summarizer has a dot, a hash is added. So two summaries never have the
 * same name.
 */
export function summaryName(placement: string, summarizer: string): string {
  const name = `${placement}.${summarizer}`;
  if (name.length <= nameMax && !summarizer.includes('.')) return name;
  const hash = Buffer.from(hash128(`${placement}/${summarizer}`))
    .toString('hex')
    .slice(0, 8);
  return `${name.slice(0, nameMax - 9)}-${hash}`;
}

export function summaryContent(
  placement: string,
  name: string,
  summarizer: Summarizer,
  partial: UserPartial,
  builtIn: Partial | undefined,
  wallMs: number,
): SummaryContent {
  return {
    placement,
    summarizer: name,
    ...summaryTable(summarizer, partial),
    completeness: completeness(partial, builtIn, wallMs),
  };
}

export function summaryObject({ placement, summarizer, ...content }: SummaryContent, observedTime: string): KubeObject {
  const labels = Object.entries({ placement, summarizer }).filter(([, value]) => value.length <= 63);
  return {
    apiVersion,
    kind: 'StatusSummary',
    metadata: {
      name: summaryName(placement, summarizer),
      // The value of a label has at most 63 characters. A longer name is only in the fields.
      labels: Object.fromEntries(labels.map(([name, value]) => [`edge.banyan.io/${name}`, value])),
    },
    placement,
    summarizer,
    ...content,
    observedTime,
  };
}

function completeness(partial: UserPartial, builtIn: Partial | undefined, wallMs: number): Completeness {
  const { expected = 0, fresh = 0, stale = 0, never = 0, quarantined = 0 } = builtIn?.counts ?? {};
  const oldestSinceMs = builtIn?.oldestSinceMs;
  const { outdated } = partial;
  const notes = Object.entries({ stale, never, quarantined, outdated })
    .filter(([, n]) => n > 0)
    .map(([name, n]) => `${shortNumber(n)} ${name}`);
  if (stale > 0 && oldestSinceMs !== undefined) notes.push(`oldest ${shortDuration(wallMs - oldestSinceMs)}`);
  const tail = notes.length > 0 ? ` (${notes.join(', ')})` : '';
  return {
    display: `${shortNumber(fresh)}/${shortNumber(expected)} fresh${tail}`,
    expected,
    fresh,
    stale,
    never,
    quarantined,
    outdated,
    ...(oldestSinceMs === undefined ? {} : { oldestSince: timestamp(oldestSinceMs) }),
  };
}
