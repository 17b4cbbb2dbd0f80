/**
 * Which revisions a space knows nothing of. A space that is told the time begins, at each start, at the milliseconds since 1970 or where it was, whichever
 * is more: so one that was put back to an older copy, or emptied, gives only revisions that nobody has seen, and what is written from then on is newer
 * than anything of the life that it lost. (A space would have to be written more than a thousand times a second, always, to outrun the clock; and two lives that
 * follow one copy begin alike if both begin within 100 s, embedded.ts's step of a ceiling, of the start that the copy is of.)
 *
 * The revisions between are a gap: a row below that has one of them was written in a life that the space does not know.
 */
import { asText, concat, text } from '../../store/bytes.ts';
import { prefixOf } from '../../store/keyspace.ts';
import type { Reader, Transaction } from '../../store/store.ts';

/** Revisions r with `had < r < from`. */
export type RevisionGap = readonly [had: number, from: number];

/** Starts between which something was written; what lies further back is taken for known, and guarded by the budget alone. */
const gapsMax = 16;

export function readRevisionGaps(reader: Reader, space: string): readonly RevisionGap[] {
  const bytes = reader.get(keyOf(space));
  return bytes ? (JSON.parse(asText(bytes)) as RevisionGap[]) : [];
}

/** A start that goes on at `from`, behind `had`. */
export function noteStart(t: Transaction, space: string, had: number, from: number): void {
  const before = readRevisionGaps(t, space);
  const last = before.at(-1);
  // Nothing was written since the last start: what was not known then is not known now.
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
