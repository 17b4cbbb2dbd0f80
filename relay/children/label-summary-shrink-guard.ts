/**
 * What a relay tells of the places below it decides what its mailbox has. A relay that lost its store tells of fewer places, for want of knowledge: what it
 * says anew in a reconciliation is no word of a person. If its mailbox would lose more by that than the budget of deletions, the former summary is **held**:
 * it counts beside the new one, here and above, until the relay tells of the places again or a person releases it. A summary that narrows in an ordinary batch
 * is what somebody did below, and goes through.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import { type DeletionLimits, type HeldRows, judge } from '../../core/feed/deletions.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { covers, decodeLabelSummary, emptyLabelSummary, type LabelSummary } from '../../core/match/label-summary.ts';
import { hash128 } from '../../core/object/hash.ts';
import { asBuffer, asText, concat, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Placement } from '../placements/placement.ts';
import { selectedObjects } from '../placements/placements.ts';
import { matchChild } from './children.ts';

export interface LabelSummaryShrinkGuardPorts {
  readonly limits: DeletionLimits;
  wallMs(): number;
  /** Those that the child's mailbox has. */
  placementsOf(child: string): Iterable<Placement>;
  /** Entries in the child's mailbox. */
  entriesOf(reader: Reader, child: string): number;
  /** After a commit that changed what is held for the child. */
  changed(child: string): void;
}

interface HeldSummary extends HeldRows {
  /** As it was told, JSON. */
  readonly labels: string;
}

/** A line or two for a person. */
const sampleMax = 5;

export class LabelSummaryShrinkGuard {
  readonly #ports: LabelSummaryShrinkGuardPorts;

  constructor(ports: LabelSummaryShrinkGuardPorts) {
    this.#ports = ports;
  }

  /** In the transaction that applies what a relay said, before anything reads it. `isAnew`: it was found by a reconciliation. */
  heard(t: Transaction, child: string, changes: readonly AppliedChange[], isAnew: boolean): void {
    const change = changes.find(({ key }) => key === entryKey.labels());
    if (!change) return;
    const now = change.after ? decodeLabelSummary(change.after.attributes) : emptyLabelSummary;
    const held = readHeld(t, child);
    const former = held?.labels ?? (isAnew && change.before ? asText(change.before.attributes) : undefined);
    if (former === undefined) return;
    const lost = this.#lost(t, child, decodeLabelSummary(text(former)), now);
    if (lost) this.#hold(t, child, former, lost, held);
    else if (held) this.#drop(t, child);
  }

  held(reader: Reader, child: string): HeldRows | undefined {
    return readHeld(reader, child);
  }

  /** True if the former summary counts no more: the token is of what is held now. */
  release(t: Transaction, child: string, token: string): boolean {
    if (readHeld(t, child)?.token !== token) return false;
    this.#drop(t, child);
    return true;
  }

  #hold(t: Transaction, child: string, labels: string, lost: Lost, before: HeldSummary | undefined): void {
    const sinceMs = before?.sinceMs ?? this.#ports.wallMs();
    const token = asBuffer(hash128(`${sinceMs} ${lost.entries} ${lost.sample.join(' ')} ${labels}`)).toString('hex');
    const held: HeldSummary = { ...lost, labels, sinceMs, token: token.slice(0, 12) };
    t.put(heldKey(child), text(JSON.stringify(held)));
    t.afterCommit(() => this.#ports.changed(child));
  }

  #drop(t: Transaction, child: string): void {
    t.remove(heldKey(child));
    t.afterCommit(() => this.#ports.changed(child));
  }

  /** What the mailbox would lose; undefined when that is within the budget. Read only when a summary has narrowed anew: by the rows of the child's placements. */
  #lost(reader: Reader, child: string, former: LabelSummary, now: LabelSummary): Lost | undefined {
    if (covers(now, former)) return undefined;
    const { placementsOf, entriesOf, limits } = this.#ports;
    const reaches = (placement: Placement, labels: LabelSummary) =>
      matchChild(placement, { name: child, role: 'relay', destinations: [], labels }).matches;
    const [leaving, staying]: [Placement[], Placement[]] = [[], []];
    for (const placement of placementsOf(child)) {
      if (reaches(placement, now)) staying.push(placement);
      else if (reaches(placement, former)) leaving.push(placement);
    }
    const rows = rowsOf(reader, leaving);
    for (const row of rowsOf(reader, staying)) rows.delete(row);
    const gone = rows.size;
    if (judge({ gone, lost: 0, held: 0, total: entriesOf(reader, child) }, limits) !== 'all') return undefined;
    return { entries: gone, sample: leaving.slice(0, sampleMax).map(({ id }) => id) };
  }
}

type Lost = Pick<HeldRows, 'entries' | 'sample'>;

/** The former summary of a relay, which counts beside what it says. */
export function heldLabelSummary(reader: Reader, child: string): LabelSummary | undefined {
  const held = readHeld(reader, child);
  return held && decodeLabelSummary(text(held.labels));
}

/** The child has left for good. */
export function forgetHeldLabelSummary(t: Transaction, child: string): void {
  t.remove(heldKey(child));
}

function rowsOf(reader: Reader, placements: readonly Placement[]): Set<string> {
  const rows = new Set<string>();
  for (const { id } of placements) {
    for (const keyHash of selectedObjects(reader, id)) rows.add(asBuffer(keyHash).toString('latin1'));
  }
  return rows;
}

function readHeld(reader: Reader, child: string): HeldSummary | undefined {
  const bytes = reader.get(heldKey(child));
  return bytes && (JSON.parse(asText(bytes)) as HeldSummary);
}

function heldKey(child: string): Uint8Array {
  return concat(prefixOf('heldLabelSummary'), text(child));
}
