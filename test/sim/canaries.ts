/**
 * Bugs on purpose, one for each class of rule: each takes one decision of the product away from outside, by another method in place of its own or by a
 * store that lies, to prove that the checks bite. The product knows nothing of them.
 */
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { Batch, ResumeTuple, WireEntry } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { equalBytes } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { Gather } from '../../relay/gather/gather.ts';
import { Readiness } from '../../relay/tree/readiness.ts';
import { isIn, prefix, rowOf } from './check/rows.ts';
import type { StoreLies } from './disk.ts';
import type { Host } from './host.ts';

export interface Canary {
  /** Once, before the first run. */
  break(): void;
  readonly lies?: (host: Host) => StoreLies | undefined;
}

export function canaryNames(): string[] {
  return Object.keys(canaries);
}

export function canaryOf(name: string): Canary {
  const canary = canaries[name];
  if (!canary) throw new Error(`there is no canary ${name}`);
  return canary;
}

/** The rule sees a tuple that satisfies it, whatever the consumer's says. */
function resumesWith(satisfied: (producer: FeedProducer, reader: Reader, tuple: ResumeTuple) => ResumeTuple): Canary {
  return {
    break() {
      const { resumable } = FeedProducer.prototype;
      FeedProducer.prototype.resumable = function (reader, tuple) {
        return resumable.call(this, reader, tuple.epoch === '' ? tuple : satisfied(this, reader, tuple));
      };
    },
  };
}

const canaries: Readonly<Record<string, Canary>> = {
  'epoch-unchecked': resumesWith(({ epoch }, _reader, tuple) => ({ ...tuple, epoch })),
  'incarnation-unchecked': resumesWith(({ incarnation }, _reader, tuple) => ({ ...tuple, incarnation })),
  'seen-head-forgotten': resumesWith((_producer, _reader, tuple) => ({ ...tuple, seenHead: tuple.cursor })),
  'purge-floor-skipped': resumesWith((producer, reader, tuple) => {
    const cursor = Math.max(tuple.cursor, producer.purgeRevision(reader));
    return { ...tuple, cursor, seenHead: Math.max(tuple.seenHead, cursor) };
  }),
  'send-before-flush': {
    break() {
      const { batch } = FeedProducer.prototype;
      FeedProducer.prototype.batch = function (reader, after, _durableHead, limits) {
        return batch.call(this, reader, after, this.head(reader), limits);
      };
    },
  },
  'acknowledge-before-flush': {
    break() {},
    lies: ({ role }) => (role === 'agent' ? { flushesAtOnce: true } : undefined),
  },
  'no-fence': {
    break() {},
    // What the fence of a session reads is what it wrote itself, as if no other had come.
    lies: (host) => ({ get: (key, found) => ownSession(host, key, found) }),
  },
  'unready-trusted': {
    break() {
      Readiness.prototype.down = () => true;
      Object.defineProperty(Readiness.prototype, 'up', { get: () => true });
    },
  },
  'older-origin-wins': {
    break() {
      const { applyEntries } = FeedConsumer.prototype;
      FeedConsumer.prototype.applyEntries = function (t, entries) {
        const raised = entries.map((entry): WireEntry => {
          const { originRevision = 0 } = this.get(t, entry.keyHash) ?? {};
          return { ...entry, originRevision: Math.max(originRevision, entry.originRevision) };
        });
        return applyEntries.call(this, t, raised);
      };
    },
  },
  'tombstone-purged-early': {
    break() {
      const { acknowledge } = FeedProducer.prototype;
      FeedProducer.prototype.acknowledge = function (t, _cursor) {
        return acknowledge.call(this, t, this.head(t));
      };
    },
  },
  'narrowed-without-tombstone': {
    break() {
      const { remove } = FeedProducer.prototype;
      FeedProducer.prototype.remove = function (t, keyHash, originRevision) {
        const removed = remove.call(this, t, keyHash, originRevision);
        if (removed) forgetRow(t, this.id, keyHash);
        return removed;
      };
    },
  },
  'last-of-batch-skipped': {
    break() {
      const { apply } = FeedConsumer.prototype;
      FeedConsumer.prototype.apply = function (t, batch) {
        return apply.call(this, t, batch.entries.length > 2 ? withoutLast(batch) : batch);
      };
    },
  },
  'reconciliation-keeps-what-is-gone': {
    break() {
      FeedConsumer.prototype.removeKey = () => undefined;
    },
  },
  'tombstones-not-sent': {
    break() {
      const { batch } = FeedProducer.prototype;
      FeedProducer.prototype.batch = function (reader, after, durableHead, limits) {
        const made = batch.call(this, reader, after, durableHead, limits);
        return made && { ...made, entries: made.entries.filter(({ content }) => content) };
      };
    },
  },
  'sessions-forgotten': {
    break() {},
    lies: (host) => ({
      get: (key, found) =>
        isIn(key, 'session') && host.world.delivery?.frame.frame?.$case === 'hello' ? undefined : found,
    }),
  },
  'removed-child-welcomed': {
    break() {
      FeedProducer.prototype.isDropped = () => false;
    },
  },
  'silence-unnoticed': {
    break() {
      // A partial stays what it was, whatever the child says or however long it is away.
      Gather.prototype.childChanged = () => false;
    },
  },
};

function withoutLast(batch: Batch): Batch {
  return { ...batch, entries: batch.entries.slice(0, -1) };
}

function forgetRow(t: Transaction, table: number, keyHash: Uint8Array): void {
  const id = Buffer.alloc(4);
  id.writeUInt32BE(table);
  const at = Buffer.concat([prefix('tableRow'), id, keyHash]);
  const found = t.get(at);
  if (!found) return;
  const revision = Buffer.alloc(6);
  revision.writeUIntBE(rowOf(found).revision, 0, 6);
  t.remove(Buffer.concat([prefix('tableRevision'), id, revision]));
  t.remove(at);
}

function ownSession(host: Host, key: Uint8Array, found: Uint8Array | undefined): Uint8Array | undefined {
  const { delivery } = host.world;
  if (!found || !delivery || delivery.to !== 'parent' || delivery.connection.parent !== host) return found;
  if (!isIn(key, 'session') || delivery.frame.frame?.$case === 'hello') return found;
  if (!equalBytes(key.subarray(2), Buffer.from(delivery.connection.child.path))) return found;
  return delivery.connection.sessionRecord ?? found;
}
