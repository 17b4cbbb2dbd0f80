/**
 * Records which releases an agent was handed, because the agent may go from one replica of this node to another. Replicas share nothing, so the agent carries
 * the record. Each replica writes the record into the agent's mailbox (`h/` rows): before the objects when it hands out a release, and after the objects when
 * the release is taken back. The agent reports the record to each parent to which it attaches (`has/` rows), before it follows that parent's mailbox. A node
 * without replicas writes no records.
 */

import type { HandedAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { FeedRow, Producer, Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { isPromoted, type ReleaseAttributes } from '../../core/rollout/release.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import type { OutgoingContent } from '../schedule/outgoing.ts';

export interface HandedPorts {
  readonly hasReplicas: boolean;
  readonly children: ReadonlyMap<string, Child>;
  mailboxOf(child: string): Producer | undefined;
  reportedOf(child: string): Table | undefined;
  /** Returns whether the agent may have rows of this node that the store does not know. */
  hasOtherHistory(child: string): boolean;
}

export class HandedReleases {
  readonly #ports: HandedPorts;

  constructor(ports: HandedPorts) {
    this.#ports = ports;
  }

  /** True: agents may come from another replica of this node, and then they have records. */
  get isCarried(): boolean {
    return this.#ports.hasReplicas;
  }

  write(t: Transaction, id: PlacementId, child: string, { release }: ReleaseAttributes, handed: boolean): void {
    const { hasReplicas, children } = this.#ports;
    if (!hasReplicas || children.get(child)?.role !== 'agent') return;
    const attributes: HandedAttributes = { release, handed };
    const content = {
      key: entryKey.handed(id),
      attributes: text(stableStringify(attributes)),
      body: new Uint8Array(0),
    };
    this.#ports.mailboxOf(child)?.put(t, content, 0);
  }

  forget(t: Transaction, id: PlacementId, child: string): void {
    if (this.#ports.hasReplicas) this.#ports.mailboxOf(child)?.remove(t, hash128(entryKey.handed(id)), 0);
  }

  /** Returns whether the agent reports another record than this node has written for it: then the agent has been at another replica. */
  isNews(reader: Reader, id: PlacementId, child: string): boolean {
    const reported = this.#reported(reader, id, child);
    if (!reported) return false;
    const written = read(reader, this.#ports.mailboxOf(child), entryKey.handed(id));
    return written?.release !== reported.release || written.handed !== reported.handed;
  }

  /** Returns whether another replica of this node has handed this release to the agent. */
  hasIt(reader: Reader, id: PlacementId, child: string, release: ReleaseAttributes): boolean {
    const reported = this.#reported(reader, id, child);
    return reported?.handed === true && reported.release === release.release && !isPromoted(release);
  }

  /**
   * Returns a message that says why this node can't send anything to the agent yet: the agent has a newer release of the placement. Undefined: the agent has no
   * newer release. `release` is absent until this node knows the release completely.
   */
  isBehind(reader: Reader, id: PlacementId, child: string, release: ReleaseAttributes | undefined): string | undefined {
    const reported = this.#reported(reader, id, child);
    if (!reported || (release && reported.release <= release.release)) return undefined;
    const thisNode = release
      ? `this node has release ${release.release}`
      : 'this node has not received all of its release';
    return `the agent has release ${reported.release} of ${id}, and ${thisNode}`;
  }

  /**
   * Raises the revision of a promoted form if necessary. The agent may have the object in the form of a release, with a newer revision than the promoted form.
   * The agent got that form from another replica of this node, or from this node before its store was lost (then the mailbox lacks the object) or restored. The
   * promoted form must replace it, because the promoted form is the newer decision. So the promoted form gets a revision that is not older.
   */
  notOlder(
    t: Transaction,
    { id, child, release }: { id: PlacementId; child: string; release: ReleaseAttributes | undefined },
    { keyHash, row }: { keyHash: Uint8Array; row: FeedRow | undefined },
    promoted: OutgoingContent,
  ): OutgoingContent {
    if (promoted.type !== 'content') return promoted;
    const { mailboxOf, hasOtherHistory } = this.#ports;
    const isLost = hasOtherHistory(child) || !mailboxOf(child)?.get(t, keyHash);
    const reported = this.#reported(t, id, child);
    if (!isLost && (!reported || reported.release === release?.release)) return promoted;
    // The revision is not newer than the candidate's. Otherwise a node that hands out the candidate later would need to know that this node made something
    // newer.
    return noOlderThan(promoted, row?.originRevision ?? release?.target ?? 0);
  }

  #reported(reader: Reader, id: PlacementId, child: string): HandedAttributes | undefined {
    return this.#ports.hasReplicas ? read(reader, this.#ports.reportedOf(child), entryKey.has(id)) : undefined;
  }
}

function noOlderThan<T extends OutgoingContent & { readonly originRevision: number }>(what: T, revision: number): T {
  return { ...what, originRevision: Math.max(what.originRevision, revision) };
}

function read(reader: Reader, table: Table | undefined, key: string): HandedAttributes | undefined {
  const content = entryContent(reader, table, key);
  return content && attributesOf<HandedAttributes>(content);
}
