import { describe, expect, it } from 'vitest';
import type { OwnerAttributes, ReplicasAttributes } from '../../../../core/entries/down-attributes.ts';
import { attributesOf, entryKey } from '../../../../core/entries/entry-keys.ts';
import type { ReplicaTermAttributes } from '../../../../core/entries/up-attributes.ts';
import { FeedConsumer } from '../../../../core/feed/consumer.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ReplicaPlace } from '../../../../relay/replicas/replica-place.ts';

/** The second of two replicas. The test writes the batches of the parent's feed. */
function secondReplica() {
  return replicaOf({ replica: 1, replicas: 2 });
}

function replicaOf({ replica, replicas }: { replica: number; replicas: number }) {
  const store = new MemoryStore();
  const random = new SeededRandom(1);
  const upstream = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
  const outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'aa', random }));
  const recounted: string[][] = [];
  const begin = (now = { replica, replicas }) =>
    new ReplicaPlace({
      ...now,
      store,
      upstream,
      outbox,
      children: () => ['shop'],
      recountChildren: (children) => {
        recounted.push([...children]);
        return true;
      },
      endSession: () => {},
    });
  const place = begin();
  let revision = 0;
  /** `more`: the number of revisions behind the batch. */
  const receive = (rows: Readonly<Record<string, OwnerAttributes | ReplicasAttributes>>, more = 0) => {
    const from = revision;
    const entries = Object.entries(rows).map(([key, row]) => ({
      keyHash: hash128(key),
      revision: ++revision,
      originRevision: 0,
      content: { key, attributes: text(JSON.stringify(row)), body: new Uint8Array(0) },
    }));
    if (entries.length === 0) revision++;
    const batch = { entries, from, to: revision, head: revision + more, epoch: 'e0', incarnation: 'i0' };
    store.write((t) => place.receivedFromParent(t, upstream.apply(t, batch)));
  };
  /** Receives rows in the middle of a reconciliation, where they come in any order and without revisions. */
  const receiveSome = (rows: Readonly<Record<string, OwnerAttributes | ReplicasAttributes>>) => {
    store.write((t) => {
      upstream.setResume(t, { epoch: 'e0', incarnation: '', cursor: 0, seenHead: 0 });
      const entries = Object.entries(rows).map(([key, row]) => ({
        keyHash: hash128(key),
        revision: ++revision,
        originRevision: 0,
        content: { key, attributes: text(JSON.stringify(row)), body: new Uint8Array(0) },
      }));
      place.receivedFromParent(t, upstream.applyEntries(t, entries));
    });
  };
  const finish = () => {
    const at = { epoch: 'e0', incarnation: 'i0', cursor: revision, seenHead: revision };
    store.write((t) => upstream.setResume(t, at));
    place.reportTerm();
  };
  const reportedTerm = () =>
    store.read((reader) => {
      const row = outbox.get(reader, hash128(entryKey.replicaTerm()));
      return row?.content && attributesOf<ReplicaTermAttributes>(outbox.content(reader, row.content)).term;
    });
  const attached = (child: string) =>
    store.read((reader) => outbox.get(reader, hash128(entryKey.attach(child)))?.content !== undefined);
  return { store, begin, attached, place, receive, receiveSome, finish, recounted, reportedTerm };
}

describe('a replica', () => {
  it('refuses an attachment that is older than the newest one, and names the newest sequence if that attachment was to itself', () => {
    const { place, receive } = secondReplica();
    receive({ [entryKey.owner('shop')]: { owner: 1, granted: true, sequence: 5 } });
    expect(place.superseded('shop', 5)).toBeUndefined();
    expect(place.superseded('shop', 4)).toMatchObject({ sequence: 5, message: expect.stringContaining('replica 1') });
    receive({ [entryKey.owner('shop')]: { owner: 0, granted: true, sequence: 9 } });
    expect(place.superseded('shop', 5)).toEqual({ message: expect.stringContaining('replica 0') });
  });

  it('reports the term of a decision after it has reported what the decision changes', () => {
    const { receive, recounted, reportedTerm } = secondReplica();
    receive({
      [entryKey.owner('shop')]: { owner: 0, granted: true, sequence: 5 },
      [entryKey.replicas()]: { term: 3, lead: 1 },
    });
    expect(reportedTerm()).toBe(3);
    expect(recounted).toEqual([[]]);
  });

  it('stays a replica when the others are no longer in the topology, so that its parent learns which of their children attach here', () => {
    const { store, begin, attached, receive, place: before } = replicaOf({ replica: 0, replicas: 2 });
    receive({
      [entryKey.replicas()]: { term: 3, lead: 0 },
      [entryKey.owner('shop')]: { owner: 1, granted: true, sequence: 5 },
    });
    expect(before.owns('shop')).toBe(false);
    const last = begin({ replica: 0, replicas: 1 });
    store.read((reader) => last.load(reader));
    expect([last.hasReplicas, last.owns('shop')]).toEqual([true, false]);
    store.write((t) => last.attached(t, 'shop', 'agent', 6));
    expect(attached('shop')).toBe(true);
  });

  it('is not made where there never was another replica: the node owns all of its children, and reports no attachments', () => {
    const { store, attached, place } = replicaOf({ replica: 0, replicas: 1 });
    store.write((t) => place.attached(t, 'shop', 'agent', 6));
    expect([place.hasReplicas, place.owns('shop'), attached('shop')]).toEqual([false, true, false]);
  });

  it('reports no term before all its decisions have arrived: rows that were written again lie behind the term', () => {
    const { receive, reportedTerm } = secondReplica();
    receive({ [entryKey.replicas()]: { term: 3, lead: 1 } }, 2);
    expect(reportedTerm()).toBeUndefined();
    receive({ [entryKey.owner('shop')]: { owner: 0, granted: true, sequence: 5 } }, 1);
    expect(reportedTerm()).toBeUndefined();
    // The last rows were superseded or purged, so the batch is empty.
    receive({});
    expect(reportedTerm()).toBe(3);
  });

  it('reports no term in the middle of a reconciliation, because the decisions of the term may arrive later', () => {
    const { receiveSome, finish, reportedTerm } = secondReplica();
    receiveSome({ [entryKey.replicas()]: { term: 3, lead: 1 } });
    expect(reportedTerm()).toBeUndefined();
    receiveSome({ [entryKey.owner('shop')]: { owner: 0, granted: true, sequence: 5 } });
    expect(reportedTerm()).toBeUndefined();
    finish();
    expect(reportedTerm()).toBe(3);
  });

  it('reports a child that is granted to it under a term that it has already reported', () => {
    const { place, receive, recounted, reportedTerm } = secondReplica();
    receive({
      [entryKey.owner('shop')]: { owner: 1, granted: false, sequence: 5 },
      [entryKey.replicas()]: { term: 3, lead: 0 },
    });
    expect(place.owns('shop')).toBe(false);
    receive({ [entryKey.owner('shop')]: { owner: 1, granted: true, sequence: 5 } });
    expect(place.owns('shop')).toBe(true);
    expect(recounted.at(-1)).toEqual(['shop']);
    expect(reportedTerm()).toBe(3);
  });
});
