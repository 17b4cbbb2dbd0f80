/**
 * A sibling's own side: it tells the parent who attaches here, hears to whom each child belongs, and leaves what is not its own out of all that it tells.
 * A node without siblings owns all of its children. What was decided lies in the table of the parent's feed; here is only what was read of it.
 */

import type { OwnerAttributes, ReplicasAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import type { AttachAttributes, ReplicaTermAttributes } from '../../core/entries/up-attributes.ts';
import type { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange, Producer } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';

export interface ReplicaPlacePorts {
  readonly store: Store;
  readonly upstream: FeedConsumer;
  readonly outbox: Producer;
  readonly replica: number;
  readonly replicas: number;
  children(): Iterable<string>;
  /** These are this node's own now, or are so no more: what it tells of them is to be told anew, as far as it can be now. False: not all of it. */
  recountChildren(children: readonly string[]): boolean;
  /** A session that the child has left without a word. */
  end(child: string, reason: string): void;
}

export class ReplicaPlace {
  readonly #ports: ReplicaPlacePorts;
  readonly #read = new Map<string, OwnerAttributes | undefined>();
  #state: ReplicasAttributes = { term: 0, lead: 0 };
  #said = 0;
  /** Children of which it is yet to be told that they are own, or are not. */
  readonly #unsaid = new Set<string>();

  /**
   * Also of the one that is left when the others are no longer in the topology. Its parent has them in the group still, and takes only a sibling's word for it
   * that their children are here now.
   */
  readonly hasReplicas: boolean;

  constructor(ports: ReplicaPlacePorts) {
    this.#ports = ports;
    const wasTold = (reader: Reader) => this.#row<ReplicasAttributes>(reader, entryKey.replicas()) !== undefined;
    this.hasReplicas = ports.replicas > 1 || ports.store.read(wasTold);
  }

  /** At start. What was decided and not said before the end is told anew, all of it: nobody knows how far that had come. */
  load(reader: Reader): void {
    if (!this.hasReplicas) return;
    this.#state = this.#stateOf(reader);
    const { outbox, children } = this.#ports;
    const row = outbox.get(reader, hash128(entryKey.replicaTerm()));
    if (row?.content) this.#said = attributesOf<ReplicaTermAttributes>(outbox.content(reader, row.content)).term;
    if (this.#said !== this.#state.term) for (const child of children()) this.#unsaid.add(child);
  }

  /** What this node tells of the child is counted. */
  owns(child: string): boolean {
    if (!this.hasReplicas) return true;
    const held = this.#held(child);
    return held ? held.owner === this.#ports.replica && held.granted : this.#state.lead === this.#ports.replica;
  }

  /** Another sibling has the child, or is about to: nobody has to wait for its word here. */
  isElsewhere(child: string): boolean {
    const held = this.hasReplicas ? this.#held(child) : undefined;
    return held !== undefined && held.owner !== this.#ports.replica;
  }

  /** It was attached to some sibling once, here or elsewhere. */
  wasAttached(child: string): boolean {
    return this.hasReplicas && this.#held(child) !== undefined;
  }

  superseded(child: string, sequence: number): { message: string; sequence?: number } | undefined {
    const held = this.hasReplicas ? this.#held(child) : undefined;
    if (!held || sequence >= held.sequence) return undefined;
    const message = `the child attached with sequence ${held.sequence} to replica ${held.owner} of this node, and sends ${sequence} here: this process is an older copy; stop it, or empty its store`;
    return held.owner === this.#ports.replica ? { message, sequence: held.sequence } : { message };
  }

  /** In the transaction that opens a session of the child. */
  attached(t: Transaction, child: string, role: 'relay' | 'agent', sequence: number): void {
    if (!this.hasReplicas) return;
    const row: AttachAttributes = { sequence, role };
    this.#tell(t, entryKey.attach(child), row);
  }

  /** In the transaction in which the child is gone for good. */
  left(t: Transaction, child: string): void {
    if (this.hasReplicas) this.#ports.outbox.remove(t, hash128(entryKey.attach(child)), 0);
  }

  /** In the transaction that applies what the parent said. */
  fromAbove(t: Transaction, changes: readonly AppliedChange[]): void {
    if (!this.hasReplicas) return;
    const owners = changes.flatMap(({ key }) => {
      const entry = parseEntryKey(key);
      return entry?.type === 'owner' ? [entry.child] : [];
    });
    if (owners.length === 0 && !changes.some(({ key }) => key === entryKey.replicas())) {
      // What a term waits for may have been the last of the feed.
      if (this.#isOwed) t.afterCommit(() => this.say());
      return;
    }
    const state = this.#stateOf(t);
    const rows = owners.map((child): [string, OwnerAttributes | undefined] => [child, this.#ownerOf(t, child)]);
    t.afterCommit(() => this.#learn(state, rows));
  }

  /** Tells anew what is own now or is so no more, then says the term of what is known. Called again whenever more can have been told. */
  say(): void {
    const { term } = this.#state;
    if (!this.hasReplicas || !this.#isOwed) return;
    const { store, upstream, recountChildren } = this.#ports;
    // In the middle of a reconciliation rows come in any order, and those that were rewritten since come behind the term: it may be here and what it speaks
    // of not yet. So it is said when the feed has come to its head.
    const { incarnation, cursor, seenHead } = store.read((reader) => upstream.resume(reader));
    if (incarnation === '' || cursor < seenHead) return;
    if (!recountChildren([...this.#unsaid])) return;
    this.#unsaid.clear();
    if (this.#said === term) return;
    store.write((t) => this.#tell(t, entryKey.replicaTerm(), { term }));
    this.#said = term;
  }

  /** A child that is granted is granted under the term that was said before. */
  get #isOwed(): boolean {
    return this.#said !== this.#state.term || this.#unsaid.size > 0;
  }

  #learn(state: ReplicasAttributes, rows: readonly [string, OwnerAttributes | undefined][]): void {
    const { children, replica, end } = this.#ports;
    const concerned = new Set(rows.map(([child]) => child));
    // Another one leads: that concerns all of whom nothing is said.
    if (state.lead !== this.#state.lead) for (const child of children()) concerned.add(child);
    const before = new Map([...concerned].map((child) => [child, this.owns(child)]));
    this.#state = state;
    for (const [child, held] of rows) this.#read.set(child, held);
    for (const child of concerned) if (this.owns(child) !== before.get(child)) this.#unsaid.add(child);
    for (const [child, held] of rows) {
      if (held && held.owner !== replica && this.#attachedHere(child) < held.sequence) {
        end(child, `the child attached to replica ${held.owner}`);
      }
    }
    this.say();
  }

  /** The sequence with which the child was here last. */
  #attachedHere(child: string): number {
    const { store, outbox } = this.#ports;
    return store.read((reader) => {
      const row = outbox.get(reader, hash128(entryKey.attach(child)));
      return row?.content ? attributesOf<AttachAttributes>(outbox.content(reader, row.content)).sequence : -1;
    });
  }

  #held(child: string): OwnerAttributes | undefined {
    if (!this.#read.has(child)) {
      this.#read.set(
        child,
        this.#ports.store.read((reader) => this.#ownerOf(reader, child)),
      );
    }
    return this.#read.get(child);
  }

  #ownerOf(reader: Reader, child: string): OwnerAttributes | undefined {
    return this.#row<OwnerAttributes>(reader, entryKey.owner(child));
  }

  #stateOf(reader: Reader): ReplicasAttributes {
    return this.#row<ReplicasAttributes>(reader, entryKey.replicas()) ?? { term: 0, lead: 0 };
  }

  #row<T>(reader: Reader, key: string): T | undefined {
    const { upstream } = this.#ports;
    const row = upstream.sound.get(reader, hash128(key));
    return row?.content && attributesOf<T>(upstream.content(reader, row.content));
  }

  #tell(t: Transaction, key: string, row: AttachAttributes | ReplicaTermAttributes): void {
    this.#ports.outbox.put(t, { key, attributes: text(stableStringify(row)), body: new Uint8Array(0) }, 0);
  }
}
