/** The words about places that did not answer, and about copies that may be old: warnings of the answer, which kubectl prints. */
import { humanDuration } from '../../core/apiserver/table/ages.ts';
import type { Away, Stale } from './fleet-lines.ts';

/** Warnings of one kind. The headers of an answer have room for about twenty; nobody reads more. */
const awayMax = 10;
const staleMax = 3;

export function warningsOf(aways: readonly Away[], stales: readonly Stale[]): string[] {
  const shown = [...byPath(aways).values()];
  const more = shown.slice(awayMax);
  const missing = more.reduce((sum, { destinations = 0 }) => sum + destinations, 0);
  return [
    ...shown.slice(0, awayMax).map(awayText),
    ...(more.length > 0 ? [`${more.length} more places with ${missing} clusters are missing here, too`] : []),
    ...staleText([...byPath(stales).values()]),
  ];
}

function byPath<T extends { readonly path: string }>(all: readonly T[]): Map<string, T> {
  return new Map(all.map((one) => [one.path, one]));
}

/** For example `eu:paris is missing here with 37 clusters: it is not connected, for 12m`. */
export function awayText({ path, why, silentMs, destinations }: Away): string {
  const clusters =
    destinations === undefined ? '' : ` with ${destinations} ${destinations === 1 ? 'cluster' : 'clusters'}`;
  const since = silentMs === undefined ? '' : `, for ${humanDuration(silentMs)}`;
  return `${path} is missing here${clusters}: ${why}${since}`;
}

function staleText(stales: readonly Stale[]): string[] {
  if (stales.length === 0) return [];
  const some = stales.slice(0, staleMax).map(({ path, silentMs }) => `${path} (for ${humanDuration(silentMs)})`);
  const others = stales.length > staleMax ? ` and ${stales.length - staleMax} more` : '';
  return [`not connected, shown as last reported: ${some.join(', ')}${others}`];
}
