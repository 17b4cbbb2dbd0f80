import { describe, expect, it } from 'vitest';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import type { Content, FeedRow } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { ReleaseAttributes } from '../../../../core/rollout/release.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { HandedReleases } from '../../../../relay/rollout/handed.ts';
import type { OutgoingContent } from '../../../../relay/schedule/outgoing.ts';

const id = 'center.retail/shop';
const release = (number: number, held = 1) => ({ release: number, held }) as ReleaseAttributes;

interface RoomOptions {
  readonly hasReplicas?: boolean;
  readonly role?: 'agent' | 'relay';
  readonly isOther?: boolean;
}

function room({ hasReplicas = true, role = 'agent', isOther = false }: RoomOptions = {}) {
  const store = new MemoryStore();
  const { mailbox, reported } = store.write((t) => ({
    mailbox: FeedProducer.open(t, { name: 'mailbox/a', bootNonce: 'boot', random: new SeededRandom(1) }),
    reported: LocalTable.open(t, 'reported/a'),
  }));
  const child: Child = { name: 'a', role, destinations: [] };
  const children = new Map([['a', child]]);
  const ports = {
    hasReplicas,
    children,
    mailboxOf: () => mailbox,
    reportedOf: () => reported,
    hasOtherHistory: () => isOther,
  };
  const reports = (attributes: object) =>
    store.write((t) =>
      reported.put(t, { key: entryKey.has(id), attributes: text(JSON.stringify(attributes)), body: Buffer.of() }, 0),
    );
  const puts = (content: Content) => store.write((t) => mailbox.put(t, content, 0));
  const keys = () => store.read((r) => [...mailbox.rows(r)].map((row) => mailbox.content(r, row.content!).key));
  return { store, reports, puts, keys, handed: new HandedReleases(ports) };
}

describe('the release that an agent carries from one replica to another', () => {
  it('is sent to agents of places with replicas, and to no others', () => {
    for (const [options, expectedKeys] of [
      [{}, [entryKey.handed(id)]],
      [{ hasReplicas: false }, []],
      [{ role: 'relay' as const }, []],
    ] as const) {
      const { store, keys, handed } = room(options);
      store.write((t) => handed.write(t, id, 'a', release(2), true));
      expect(keys()).toEqual(expectedKeys);
      store.write((t) => handed.forget(t, id, 'a'));
      expect(keys()).toEqual([]);
    }
  });

  it('is nothing new if it was handed out here', () => {
    const { store, reports, handed } = room();
    store.write((t) => handed.write(t, id, 'a', release(2), true));
    reports({ release: 2, handed: true });
    expect(store.read((reader) => handed.isNews(reader, id, 'a'))).toBe(false);
    reports({ release: 2, handed: false });
    expect(store.read((reader) => handed.isNews(reader, id, 'a'))).toBe(true);
  });

  it('is the release here, another one, or one promoted meanwhile', () => {
    const { store, reports, handed } = room();
    const hasIt = (of: ReleaseAttributes) => store.read((reader) => handed.hasIt(reader, id, 'a', of));
    reports({ release: 2, handed: true });
    expect([release(1), release(2), release(3), release(2, 0)].map(hasIt)).toEqual([false, true, false, false]);
    reports({ release: 2, handed: false });
    expect(hasIt(release(2))).toBe(false);
  });

  it('holds the agent back at a replica that knows an older release, or only a part of it', () => {
    const { store, reports, handed } = room();
    const behind = (of?: ReleaseAttributes) => store.read((reader) => handed.isBehind(reader, id, 'a', of));
    expect(behind(undefined)).toBeUndefined();
    reports({ release: 2, handed: false });
    expect([behind(release(1)), behind(undefined), behind(release(2)), behind(release(3))]).toEqual([
      `the agent has release 2 of ${id}, and this node has release 1`,
      `the agent has release 2 of ${id}, and this node has not received all of its release`,
      undefined,
      undefined,
    ]);
  });

  it('is replaced by the promoted objects, if it is another release, whatever is newer', () => {
    const { store, reports, puts, handed } = room();
    const content = { key: 'o/x', attributes: Buffer.of(), body: Buffer.of() };
    const promoted: OutgoingContent & { readonly type: 'content' } = { type: 'content', content, originRevision: 5 };
    const keyHash = hash128(content.key);
    const row = { keyHash, revision: 1, originRevision: 9 };
    const given = (of: ReleaseAttributes) =>
      store.write((t) => handed.notOlder(t, { id, child: 'a', release: of }, { keyHash, row }, promoted));
    reports({ release: 2, handed: true });
    puts(content);
    expect([given(release(2)), given(release(3))]).toEqual([promoted, { ...promoted, originRevision: 9 }]);
  });

  it.each([
    ['its mailbox was lost', {}, false],
    ['the store was put back', { isOther: true }, true],
  ])('is replaced by them even if %s, and nothing is known of releases handed out', (_, options, isThere) => {
    const { store, puts, handed } = room({ hasReplicas: false, ...options });
    const content = { key: 'o/x', attributes: Buffer.of(), body: Buffer.of() };
    if (isThere) puts(content);
    const promoted: OutgoingContent & { readonly type: 'content' } = { type: 'content', content, originRevision: 5 };
    const to = { id, child: 'a', release: { ...release(2), target: 9 } };
    const keyHash = hash128(content.key);
    const given = (row?: FeedRow) => store.write((t) => handed.notOlder(t, to, { keyHash, row }, promoted));
    expect(given()).toEqual({ ...promoted, originRevision: 9 });
    // A candidate that a replica hands out later is as old as its row, and has to replace this one.
    expect(given({ keyHash, revision: 1, originRevision: 7 })).toEqual({ ...promoted, originRevision: 7 });
  });
});
