/**
 * Which releases an agent was handed, where it may go from one sibling of this node to another: siblings share nothing, so the agent carries it. Each tells
 * its agents in the mailbox (`h/` rows), before the objects when a release is handed out and behind them when it is taken back, and the agent says it to
 * whomever it attaches to (`has/` rows), before that one's mailbox is followed. A node without siblings tells nothing.
 */

import type { HandedAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
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
  /** This node may have handed it what it does not know of. */
  hasOtherHistory(child: string): boolean;
}

export class HandedReleases {
  readonly #ports: HandedPorts;

  constructor(ports: HandedPorts) {
    this.#ports = ports;
  }

  /** Agents may come that were elsewhere. */
  get isCarried(): boolean {
    return this.#ports.hasReplicas;
  }

  tell(t: Transaction, id: PlacementId, child: string, { release }: ReleaseAttributes, handed: boolean): void {
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

  /** The agent says something else than it was told here: it has been elsewhere. */
  isNews(reader: Reader, id: PlacementId, child: string): boolean {
    const said = this.#said(reader, id, child);
    if (!said) return false;
    const told = read(reader, this.#ports.mailboxOf(child), entryKey.handed(id));
    return told?.release !== said.release || told.handed !== said.handed;
  }

  /** A sibling of this node has handed this release to the agent. */
  hasIt(reader: Reader, id: PlacementId, child: string, release: ReleaseAttributes): boolean {
    const said = this.#said(reader, id, child);
    return said?.handed === true && said.release === release.release && !isPromoted(release);
  }

  /** In words, why nothing can be told to the agent yet: it knows more of the placement than this node. `release`: as it is here, once all of it is. */
  isBehind(reader: Reader, id: PlacementId, child: string, release: ReleaseAttributes | undefined): string | undefined {
    const said = this.#said(reader, id, child);
    if (!said || (release && said.release <= release.release)) return undefined;
    const here = release ? `is at ${release.release}` : 'has not all of it';
    return `${id} is at release ${said.release} there, and this node ${here}`;
  }

  /**
   * What the agent has may be of a release, and newer: from a sibling of this node, or from this node before its store was lost, when the mailbox has nothing
   * of the object, or put back. That gives way to what was promoted, which is the newer decision.
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
    const said = this.#said(t, id, child);
    if (!isLost && (!said || said.release === release?.release)) return promoted;
    // No newer than the candidate is, of which nobody who hands it out later knows that anything was made newer here.
    return noOlderThan(promoted, row?.originRevision ?? release?.target ?? 0);
  }

  #said(reader: Reader, id: PlacementId, child: string): HandedAttributes | undefined {
    return this.#ports.hasReplicas ? read(reader, this.#ports.reportedOf(child), entryKey.has(id)) : undefined;
  }
}

function noOlderThan<T extends OutgoingContent & { readonly originRevision: number }>(what: T, revision: number): T {
  return { ...what, originRevision: Math.max(what.originRevision, revision) };
}

function read(reader: Reader, table: Table | undefined, key: string): HandedAttributes | undefined {
  const row = table?.get(reader, hash128(key));
  return row?.content && table ? attributesOf<HandedAttributes>(table.content(reader, row.content)) : undefined;
}
