/** The label summaries that child relays have reported, as far as the relays may claim them. */
import { entryKey } from '../../core/entries/entry-keys.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { Table } from '../../core/feed/feed.ts';
import type { RefusedClaims } from '../../core/match/allowed-summary.ts';
import {
  decodeLabelSummary,
  emptyLabelSummary,
  encodeLabelSummary,
  type LabelSummary,
  mergeLabelSummaries,
} from '../../core/match/label-summary.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Reader } from '../../core/store/store.ts';
import type { Mailbox, Mailboxes } from '../mailbox/mailboxes.ts';
import type { ChildClaims } from './child-claims.ts';
import { heldLabelSummary } from './label-summary-shrink-guard.ts';
import { readOwnedLabelSummary } from './owned-label-summary.ts';

export interface RelayLabelsPorts {
  readonly mailboxes: Mailboxes;
  /** The claims of child relays. */
  readonly claims: ChildClaims;
  /** Returns the labels that Locations of this node inherit. */
  inherited(): Labels;
}

export class RelayLabels {
  readonly #ports: RelayLabelsPorts;

  constructor(ports: RelayLabelsPorts) {
    this.#ports = ports;
  }

  /**
   * Returns the label summary of a relay for matching: the summaries of all its replicas, merged. So each replica gets everything that any of the replicas
   * needs, and a child of the relay finds its objects at each replica to which it may attach. Most replicas report equal summaries, and equal summaries are
   * merged once. If the summaries differ, a Location counts once for each replica that knows the Location. Counts of destinations do not use these numbers:
   * they use the owned label summaries. Only the part that the relay may claim is returned.
   */
  ofRelay(reader: Reader, name: string): { labels?: LabelSummary; refused?: RefusedClaims } {
    const summaries = this.#ports.mailboxes.replicasOf(name).flatMap((replica) => {
      const labels = this.ofReplica(reader, this.#ports.mailboxes.get(replica)!);
      return labels ? [labels] : [];
    });
    const different = new Map(
      summaries.map((labels) => [Buffer.from(encodeLabelSummary(labels)).toString('latin1'), labels]),
    );
    const [first, ...others] = different.values();
    if (!first) return {};
    const merged = others.length > 0 ? mergeLabelSummaries([first, ...others]) : first;
    const { summary, refused } = this.#ports.claims.allowed(name, merged, this.#ports.inherited());
    return { labels: summary, refused };
  }

  /** Returns the report of one replica of a relay, merged with an earlier one that this node holds. Undefined: the replica has reported nothing. */
  ofReplica(reader: Reader, { child, reported: table }: Mailbox): LabelSummary | undefined {
    const reported = reportedLabelSummary(reader, table);
    const held = heldLabelSummary(reader, child);
    return reported && held ? mergeLabelSummaries([reported, held]) : reported;
  }

  /** Returns the Locations that this replica of a relay counts, as far as the relay may claim them. Undefined: it counts all Locations of its label summary. */
  countedOf(reader: Reader, mailbox: Mailbox): LabelSummary | undefined {
    const counted = this.#reportedCount(reader, mailbox);
    return counted && this.#ports.claims.allowed(mailbox.child, counted, this.#ports.inherited()).summary;
  }

  #reportedCount(reader: Reader, mailbox: Mailbox): LabelSummary | undefined {
    const { child, reported } = mailbox;
    const counted = readOwnedLabelSummary(reader, reported);
    if (counted) return counted;
    // The shrink guard holds an earlier label summary of this relay. Placements match that one too, but only the Locations that the relay reports now count.
    if (heldLabelSummary(reader, child)) return reportedLabelSummary(reader, reported);
    if (this.#ports.mailboxes.replicasOf(child).length < 2) return undefined;
    // A replica that has reported nothing gets everything that the other replicas need, and counts nothing.
    return this.ofReplica(reader, mailbox) ?? emptyLabelSummary;
  }
}

/** Undefined: the relay has reported no label summary. */
export function reportedLabelSummary(reader: Reader, reported: Table): LabelSummary | undefined {
  const content = entryContent(reader, reported, entryKey.labels());
  return content && decodeLabelSummary(content.attributes);
}
