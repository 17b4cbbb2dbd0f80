/**
 * Holds an earlier label summary of a relay that lost its store. The label summary of a relay decides what the relay's mailbox has. A relay that lost its store
 * reports fewer Locations, because it has forgotten them. No person has decided this; the new summary arrives by a reconciliation. If the mailbox would lose
 * more than the budget of deletions because of the new summary, this node **holds** the earlier one: the earlier summary stays valid beside the new one, at
 * this node and at the nodes above, until the relay reports the Locations again or a person approves the deletion. A summary that narrows in an ordinary batch
 * is the result of an action below, and takes effect.
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
  /** Returns the placements that the child's mailbox has. */
  placementsOf(child: string): Iterable<Placement>;
  /** Returns the number of entries in the child's mailbox. */
  entriesOf(reader: Reader, child: string): number;
  /** Called after a commit that changed the held summary of the child. */
  changed(child: string): void;
}

interface HeldSummary extends HeldRows {
  /** The attributes of the earlier `labels` entry: JSON. */
  readonly labels: string;
}

/** Limit for the placements that the alarm names: one or two lines for a person. */
const sampleMax = 5;

export class LabelSummaryShrinkGuard {
  readonly #ports: LabelSummaryShrinkGuardPorts;

  constructor(ports: LabelSummaryShrinkGuardPorts) {
    this.#ports = ports;
  }

  /** Runs in the transaction that applies a report of a relay, before anything reads the report. `isReconciled`: the report arrived by a reconciliation. */
  received(t: Transaction, child: string, changes: readonly AppliedChange[], isReconciled: boolean): void {
    const change = changes.find(({ key }) => key === entryKey.labels());
    if (!change) return;
    const current = change.after ? decodeLabelSummary(change.after.attributes) : emptyLabelSummary;
    const held = readHeld(t, child);
    const former = held?.labels ?? (isReconciled && change.before ? asText(change.before.attributes) : undefined);
    if (former === undefined) return;
    const lost = this.#lost(t, child, decodeLabelSummary(text(former)), current);
    if (lost) this.#hold(t, child, former, lost, held);
    else if (held) this.#drop(t, child);
  }

  held(reader: Reader, child: string): HeldRows | undefined {
    return readHeld(reader, child);
  }

  /** Stops holding the earlier summary if the token is the token of the held summary. Returns false if it is another token. */
  approve(t: Transaction, child: string, token: string): boolean {
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

  /**
   * Returns the rows that the mailbox would lose; undefined if they are within the budget. If the present summary is narrower than the earlier one, this reads
   * the rows of all placements of the child.
   */
  #lost(reader: Reader, child: string, former: LabelSummary, current: LabelSummary): Lost | undefined {
    if (covers(current, former)) return undefined;
    const { placementsOf, entriesOf, limits } = this.#ports;
    const reaches = (placement: Placement, labels: LabelSummary) =>
      matchChild(placement, { name: child, role: 'relay', destinations: [], labels }).matches;
    const [leaving, staying]: [Placement[], Placement[]] = [[], []];
    for (const placement of placementsOf(child)) {
      if (reaches(placement, current)) staying.push(placement);
      else if (reaches(placement, former)) leaving.push(placement);
    }
    const rows = rowsOf(reader, leaving);
    for (const row of rowsOf(reader, staying)) rows.delete(row);
    const lostRows = rows.size;
    if (judge({ gone: lostRows, lost: 0, held: 0, total: entriesOf(reader, child) }, limits) !== 'all')
      return undefined;
    return { entries: lostRows, sample: leaving.slice(0, sampleMax).map(({ id }) => id) };
  }
}

type Lost = Pick<HeldRows, 'entries' | 'sample'>;

/** Returns the held earlier summary of a relay. It is valid beside the summary that the relay reports. */
export function heldLabelSummary(reader: Reader, child: string): LabelSummary | undefined {
  const held = readHeld(reader, child);
  return held && decodeLabelSummary(text(held.labels));
}

/** Call it when the child has left for good. */
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
