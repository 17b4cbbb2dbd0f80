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

/** The second of two replicas, with a feed from the parent whose batches the test writes. */
function secondSibling() {
  return siblingOf({ replica: 1, replicas: 2 });
}

function siblingOf({ replica, replicas }: { replica: number; replicas: number }) {
  const store = new MemoryStore();
  const random = new SeededRandom(1);
  const upstream = store.write((t) => FeedConsumer.open(t, { name: 'upstream' }));
  const outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'aa', random }));
  const retold: string[][] = [];
  const begin = (now = { replica, replicas }) =>
    new ReplicaPlace({
      ...now,
      store,
      upstream,
      outbox,
      children: () => ['shop'],
      recountChildren: (children) => {
        retold.push([...children]);
        return true;
      },
      end: () => {},
    });
  const place = begin();
  let revision = 0;
  /** `more`: the number of revisions after the batch. */
  const hear = (rows: Readonly<Record<string, OwnerAttributes | ReplicasAttributes>>, more = 0) => {
    const from = revision;
    const entries = Object.entries(rows).map(([key, row]) => ({
      keyHash: hash128(key),
      revision: ++revision,
      originRevision: 0,
      content: { key, attributes: text(JSON.stringify(row)), body: new Uint8Array(0) },
    }));
    if (entries.length === 0) revision++;
    const batch = { entries, from, to: revision, head: revision + more, epoch: 'e0', incarnation: 'i0' };
    store.write((t) => place.fromAbove(t, upstream.apply(t, batch)));
  };
  /** During a reconciliation: rows arrive in any order, without a revision. */
  const hearSome = (rows: Readonly<Record<string, OwnerAttributes | ReplicasAttributes>>) => {
    store.write((t) => {
      upstream.setResume(t, { epoch: 'e0', incarnation: '', cursor: 0, seenHead: 0 });
      const entries = Object.entries(rows).map(([key, row]) => ({
        keyHash: hash128(key),
        revision: ++revision,
        originRevision: 0,
        content: { key, attributes: text(JSON.stringify(row)), body: new Uint8Array(0) },
      }));
      place.fromAbove(t, upstream.applyEntries(t, entries));
    });
  };
  const finish = () => {
    const at = { epoch: 'e0', incarnation: 'i0', cursor: revision, seenHead: revision };
    store.write((t) => upstream.setResume(t, at));
    place.say();
  };
  const said = () =>
    store.read((reader) => {
      const row = outbox.get(reader, hash128(entryKey.replicaTerm()));
      return row?.content && attributesOf<ReplicaTermAttributes>(outbox.content(reader, row.content)).term;
    });
  const attached = (child: string) =>
    store.read((reader) => outbox.get(reader, hash128(entryKey.attach(child)))?.content !== undefined);
  return { store, begin, attached, place, hear, hearSome, finish, retold, said };
}

describe('one of several replicas', () => {
  it('refuses an older attachment than the known one, and names the sequence if that attachment was to itself', () => {
    const { place, hear } = secondSibling();
    hear({ [entryKey.owner('shop')]: { owner: 1, granted: true, sequence: 5 } });
    expect(place.superseded('shop', 5)).toBeUndefined();
    expect(place.superseded('shop', 4)).toMatchObject({ sequence: 5, message: expect.stringContaining('replica 1') });
    hear({ [entryKey.owner('shop')]: { owner: 0, granted: true, sequence: 9 } });
    expect(place.superseded('shop', 5)).toEqual({ message: expect.stringContaining('replica 0') });
  });

  it('reports the term of a decision once it has reported the changes of the decision', () => {
    const { hear, retold, said } = secondSibling();
    hear({
      [entryKey.owner('shop')]: { owner: 0, granted: true, sequence: 5 },
      [entryKey.replicas()]: { term: 3, lead: 1 },
    });
    expect(said()).toBe(3);
    expect(retold).toEqual([[]]);
  });

  it('stays a replica when the others are no longer in the topology: its parent learns who comes over from them', () => {
    const { store, begin, attached, hear, place: before } = siblingOf({ replica: 0, replicas: 2 });
    hear({
      [entryKey.replicas()]: { term: 3, lead: 0 },
      [entryKey.owner('shop')]: { owner: 1, granted: true, sequence: 5 },
    });
    expect(before.owns('shop')).toBe(false);
    const left = begin({ replica: 0, replicas: 1 });
    store.read((reader) => left.load(reader));
    expect([left.hasReplicas, left.owns('shop')]).toEqual([true, false]);
    store.write((t) => left.attached(t, 'shop', 'agent', 6));
    expect(attached('shop')).toBe(true);
  });

  it('is none if there never was another one: it owns all of its children, and reports none', () => {
    const { store, attached, place } = siblingOf({ replica: 0, replicas: 1 });
    store.write((t) => place.attached(t, 'shop', 'agent', 6));
    expect([place.hasReplicas, place.owns('shop'), attached('shop')]).toEqual([false, true, false]);
  });

  it('reports no term before all earlier decisions have arrived: rewritten rows come behind the term', () => {
    const { hear, said } = secondSibling();
    hear({ [entryKey.replicas()]: { term: 3, lead: 1 } }, 2);
    expect(said()).toBeUndefined();
    hear({ [entryKey.owner('shop')]: { owner: 0, granted: true, sequence: 5 } }, 1);
    expect(said()).toBeUndefined();
    // The last of them were superseded or purged: an empty batch.
    hear({});
    expect(said()).toBe(3);
  });

  it('reports no term during a reconciliation: the rows of the decision may come later', () => {
    const { hearSome, finish, said } = secondSibling();
    hearSome({ [entryKey.replicas()]: { term: 3, lead: 1 } });
    expect(said()).toBeUndefined();
    hearSome({ [entryKey.owner('shop')]: { owner: 0, granted: true, sequence: 5 } });
    expect(said()).toBeUndefined();
    finish();
    expect(said()).toBe(3);
  });

  it('reports a child that is granted under a term that it has reported before', () => {
    const { place, hear, retold, said } = secondSibling();
    hear({
      [entryKey.owner('shop')]: { owner: 1, granted: false, sequence: 5 },
      [entryKey.replicas()]: { term: 3, lead: 0 },
    });
    expect(place.owns('shop')).toBe(false);
    hear({ [entryKey.owner('shop')]: { owner: 1, granted: true, sequence: 5 } });
    expect(place.owns('shop')).toBe(true);
    expect(retold.at(-1)).toEqual(['shop']);
    expect(said()).toBe(3);
  });
});
