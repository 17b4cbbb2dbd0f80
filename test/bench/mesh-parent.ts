/** A parent without a scheduler: an LMDB store with the feeds of its children, their sessions, and the listener. */
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { Content, ContentReference } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { SharedContents } from '../../core/feed/shared-contents.ts';
import { hash128 } from '../../core/object/hash.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { beginBoot } from '../../core/session/node-identity.ts';
import type { ChildFeeds } from '../../core/session/parent-ports.ts';
import { ParentSessions } from '../../core/session/parent-sessions.ts';
import { ackFrame, batchFrame } from '../../core/session/wire-frames.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import { encodeFrame } from '../../core/wire/codec/frames.ts';
import type { Listener } from '../../core/wire/link.ts';
import { listenMesh } from '../../core/wire/network/mesh-listener.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';

/**
 * The number of rows that the scheduler puts in a transaction before it checks its bound, which it does between pieces of work (relay/schedule/schedule.ts).
 */
const rowsPerStep = 256;

export class MeshParent implements AsyncDisposable {
  readonly #store: LmdbStore;
  readonly #feeds: ReadonlyMap<string, ChildFeeds>;
  readonly #sessions: ParentSessions;
  readonly #listener: Listener;
  /** The acknowledged cursor of each child: a put is one entry for each, so a newer cursor covers it. */
  readonly #cursors = new Map<string, number>();
  readonly #waiting = new Set<string>();
  #missing = 0;
  #done = () => {};

  static async start(directory: string, path: string, names: readonly string[], credentials: NodeCredentials) {
    const store = LmdbStore.open({ directory }, silentLogger);
    const feeds = openFeeds(store, names);
    await store.flushed();
    const log = silentLogger;
    let parent: MeshParent | undefined;
    const sessions = new ParentSessions({
      defer: setImmediate,
      store,
      clock: systemClock,
      random: systemRandom,
      log,
      path,
      software: 'bench',
      feedsOf: (_t, child) => feeds.get(child)!,
      ready: () => true,
      applied() {},
      committed() {},
      acknowledged: (child, cursor) => parent?.acknowledged(child, cursor),
      connected() {},
      rootAgeMs: () => 0,
      disconnected: (child, reason) => {
        if (parent?.isWaitingFor(child)) throw new Error(`${child} was lost: ${reason}`);
      },
    });
    const listener = await listenMesh({
      host: '127.0.0.1',
      port: 0,
      credentials,
      log,
      accept: (link) => sessions.accept(link),
    });
    parent = new MeshParent(store, feeds, sessions, listener);
    return parent;
  }

  private constructor(
    store: LmdbStore,
    feeds: ReadonlyMap<string, ChildFeeds>,
    sessions: ParentSessions,
    listener: Listener,
  ) {
    this.#store = store;
    this.#feeds = feeds;
    this.#sessions = sessions;
    this.#listener = listener;
  }

  get address(): string {
    return this.#listener.address;
  }

  /** Puts one content into every mailbox, some rows a turn. Resolves when every child has acknowledged it. */
  putAll(content: Content): Promise<void> {
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#missing = this.#feeds.size;
      this.#putSome(content, [...this.#feeds]);
    });
  }

  #putSome(content: Content, feeds: readonly (readonly [string, ChildFeeds])[]): void {
    const some = feeds.slice(0, rowsPerStep);
    this.#store.write((t) => {
      const keyHash = hash128(content.key);
      // As the scheduler has it, from the row of a source.
      let reference: ContentReference | undefined;
      for (const [name, { producer }] of some) {
        if (reference) producer.putReference(t, keyHash, reference, 0);
        else producer.put(t, content, 0);
        reference ??= producer.get(t, keyHash)!.content!;
        this.#waiting.add(name);
      }
    });
    const rest = feeds.slice(rowsPerStep);
    if (rest.length > 0) setImmediate(() => this.#putSome(content, rest));
  }

  acknowledged(child: string, cursor: number): void {
    if (cursor <= (this.#cursors.get(child) ?? 0)) return;
    this.#cursors.set(child, cursor);
    if (!this.#waiting.delete(child)) return;
    this.#missing--;
    if (this.#missing === 0) this.#done();
  }

  isWaitingFor(child: string): boolean {
    return this.#waiting.has(child);
  }

  /** Bytes of the frame that carried the last put to a child, and of its acknowledgement. */
  frameBytes(): { batch: number; ack: number } {
    const { producer } = this.#feeds.values().next().value!;
    const batch = this.#store.read((reader) => {
      const head = producer.head(reader);
      return producer.batch(reader, head - 1, head, { maxBytes: 64 * 1024, maxEntries: 1 })!;
    });
    return {
      batch: encodeFrame(batchFrame('down', batch)).length,
      ack: encodeFrame(ackFrame('down', batch.to, batch.epoch)).length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#waiting.clear();
    this.#sessions.close();
    await this.#listener[Symbol.asyncDispose]();
    await this.#store[Symbol.asyncDispose]();
  }
}

function openFeeds(store: LmdbStore, names: readonly string[]): Map<string, ChildFeeds> {
  return store.write((t) => {
    const { bootNonce } = beginBoot(t, systemClock, systemRandom);
    const contents = new SharedContents();
    return new Map(
      names.map((name) => [
        name,
        {
          producer: FeedProducer.open(t, { name: `mailbox/${name}`, bootNonce, random: systemRandom, contents }),
          consumer: FeedConsumer.open(t, { name: `reported/${name}` }),
        },
      ]),
    );
  });
}
