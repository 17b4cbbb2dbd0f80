/** Canaries that remove rules about sending, storing and receiving in a feed. */
import { FeedConsumer } from '../../../core/feed/consumer.ts';
import type { Batch, WireEntry } from '../../../core/feed/feed.ts';
import { FeedProducer } from '../../../core/feed/producer.ts';
import { producerRowsTopic } from '../../../core/feed/topics.ts';
import type { Transaction } from '../../../core/store/store.ts';
import { Subscriptions, type Topic } from '../../../core/store/topics.ts';
import { prefix, rowOf } from '../check/rows.ts';
import type { Canaries } from './canary.ts';

/** The length of a tombstone in the index by revision: the key hash and a mark byte. */
const tombstoneBytes = 17;

export const feedCanaries: Canaries = {
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
    storeFaults: ({ role }) => (role === 'agent' ? { flushesAtOnce: true } : undefined),
  },
  'older-origin-wins': {
    break() {
      const { applyEntries } = FeedConsumer.prototype;
      FeedConsumer.prototype.applyEntries = function (t, entries, state) {
        const raised = entries.map((entry): WireEntry => {
          const { originRevision = 0 } = this.get(t, entry.keyHash) ?? {};
          return { ...entry, originRevision: Math.max(originRevision, entry.originRevision) };
        });
        return applyEntries.call(this, t, raised, state);
      };
    },
  },
  'tombstone-purged-early': {
    break() {
      const { acknowledge } = FeedProducer.prototype;
      // At each acknowledgement, all tombstones are removed, even those that the consumer has not acknowledged.
      FeedProducer.prototype.acknowledge = function (t, cursor) {
        acknowledge.call(this, t, cursor);
        for (const keyHash of tombstonesOf(t, this.id)) forgetRow(t, this.id, keyHash);
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
  'reconciliation-removes-nothing': {
    break() {
      FeedConsumer.prototype.removeAbsent = () => [];
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
  'change-unannounced': {
    break() {
      // Every third commit of a child's reports is announced to nobody. The rows stay unsent until the next commit.
      const { deliver } = Subscriptions.prototype;
      let commits = 0;
      Subscriptions.prototype.deliver = function (announced) {
        const tables = announced.get(producerRowsTopic as Topic<never>);
        if (tables?.has('outbox') && ++commits % 3 === 0) tables.delete('outbox');
        return deliver.call(this, announced);
      };
    },
  },
};

function withoutLast(batch: Batch): Batch {
  return { ...batch, entries: batch.entries.slice(0, -1) };
}

function tombstonesOf(t: Transaction, table: number): Uint8Array[] {
  const [from, to] = [table, table + 1].map((of) => {
    const id = Buffer.alloc(4);
    id.writeUInt32BE(of);
    return Buffer.concat([prefix('tableRevision'), id]);
  });
  const indexed = Array.from(t.scan({ from: from!, to: to! }), ([, value]) => Buffer.from(value));
  return indexed
    .filter(({ length }) => length === tombstoneBytes)
    .map((value) => value.subarray(0, tombstoneBytes - 1));
}

export function forgetRow(t: Transaction, table: number, keyHash: Uint8Array): void {
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
