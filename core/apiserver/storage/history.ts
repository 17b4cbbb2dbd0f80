/**
 * The revision gaps of a space: the revisions that the space does not know. With `startsAt`, a space begins each store incarnation at the milliseconds
 * since 1970, or at its last revision if that is higher. So if the store of a space was emptied or restored from an older copy, the space uses only new
 * revisions. Every write after that has a higher revision than every write of the lost incarnation.
 *
 * There are two exceptions. A space with more than a thousand writes a second, all the time, would overtake the clock. And two incarnations may begin at
 * the same revision: both are restored from one copy, and both begin within 100 s (the `ceilingStep` of embedded.ts) after the start of the incarnation
 * that was copied.
 *
 * The revisions between two incarnations are a gap. If a row at a node below has a revision in a gap, the row was written in a lost incarnation.
 */
import { asText, concat, text } from '../../store/bytes.ts';
import { prefixOf } from '../../store/keyspace.ts';
import type { Reader, Transaction } from '../../store/store.ts';

/** All revisions r with `had < r < from`. */
export type RevisionGap = readonly [had: number, from: number];

/**
 * Number of gaps that a space remembers. Revisions in older gaps no longer count as lost. So only the budget of deletions protects the rows of these
 * revisions.
 */
const gapsMax = 16;

export function readRevisionGaps(reader: Reader, space: string): readonly RevisionGap[] {
  const bytes = reader.get(keyOf(space));
  return bytes ? (JSON.parse(asText(bytes)) as RevisionGap[]) : [];
}

/** Records a start of the space at revision `from`. `had` is the last revision that the space knows. */
export function noteStart(t: Transaction, space: string, had: number, from: number): void {
  const before = readRevisionGaps(t, space);
  const last = before.at(-1);
  // Nothing was written since the last start. So the last gap and the new gap become one gap.
  const gaps: RevisionGap[] =
    last && last[1] === had ? [...before.slice(0, -1), [last[0], from]] : [...before, [had, from]];
  t.put(keyOf(space), text(JSON.stringify(gaps.slice(-gapsMax))));
}

export function revisionGapOf(gaps: readonly RevisionGap[], revision: number): RevisionGap | undefined {
  return gaps.find(([had, from]) => had < revision && revision < from);
}

function keyOf(space: string): Uint8Array {
  return concat(prefixOf('spaceHistory'), text(space));
}
