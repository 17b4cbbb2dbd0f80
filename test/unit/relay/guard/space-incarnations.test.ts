import { beforeEach, describe, expect, it } from 'vitest';
import type { RevisionGap } from '../../../../core/apiserver/storage/history.ts';
import { attributesOf, entryKey } from '../../../../core/entries/entry-keys.ts';
import { isLostRow, noteSeen, readSeen, reportSeenRevisions } from '../../../../core/entries/source-incarnations.ts';
import type { RolledBackAttributes } from '../../../../core/entries/up-attributes.ts';
import type { AppliedChange } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { concat, text, u48 } from '../../../../core/store/bytes.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { SpaceIncarnations } from '../../../../relay/guard/space-incarnations.ts';
import type { OriginSpace } from '../../../../relay/spaces/origins.ts';
import { sourceRemovedTopic } from '../../../../relay/work/topics.ts';

const source = 'center.retail';

function change(key: string, originRevision: number, attributes: object = {}): AppliedChange {
  const after = { key, attributes: text(JSON.stringify(attributes)), body: new Uint8Array(0) };
  return { key, keyHash: hash128(key), originRevision, after };
}

describe('the store incarnations of the spaces of a node', () => {
  let store: MemoryStore;
  let outbox: FeedProducer;
  /** Used as the table of the parent's entries. */
  let upstream: LocalTable;
  let mailbox: FeedProducer;
  /** The reports of a child. */
  let reported: LocalTable;
  let raised: number[];
  let disbelieved: string[];
  let alarmed: RolledBackAttributes[];
  let incarnations: SpaceIncarnations;
  let gaps: RevisionGap[];
  let revision: number;

  beforeEach(() => {
    store = new MemoryStore();
    const random = new SeededRandom(1);
    const open = (name: string) => store.write((t) => FeedProducer.open(t, { name, bootNonce: 'aa', random }));
    outbox = open('outbox');
    upstream = store.write((t) => LocalTable.open(t, 'upstream'));
    mailbox = open('mailbox/kid');
    reported = store.write((t) => LocalTable.open(t, 'reported/kid'));
    raised = [];
    disbelieved = [];
    alarmed = [];
    gaps = [[100, 1_000]];
    revision = 1_005;
    const origin: OriginSpace = {
      source,
      revision: () => revision,
      gaps: () => gaps,
      raise: (_t, seen) => {
        raised.push(seen);
        gaps = [...gaps, [revision, seen + 1]];
        revision = seen + 1;
      },
    };
    incarnations = new SpaceIncarnations({
      origins: () => new Map([[source, origin]]),
      outbox,
      upstream,
      mailboxes: () => [mailbox],
      reported: () => [reported],
      wallMs: () => 0,
      disbelieved: (of, seen) => disbelieved.push(`${of} ${seen}`),
      alarmed: (alarm) => alarmed.push(alarm),
    });
  });

  const seenPorts = {
    clock: { wallMs: () => 0 },
    log: {
      error(fields: object): void {
        const { source: of, revision } = fields as { source: string; revision: number };
        disbelieved.push(`${of} ${revision}`);
      },
    },
  };
  const receiveSeen = (seen: number, of = source) =>
    store.write((t) => {
      const reportedChange = change(entryKey.seen(of), 0, { revision: seen });
      reported.put(t, reportedChange.after!, 0);
      incarnations.received(t, [reportedChange]);
    });
  const receiveGaps = (above: string, attributes: object) =>
    store.write((t) => {
      const receivedChange = change(entryKey.incarnations(above), 0, attributes);
      upstream.put(t, receivedChange.after!, 0);
      incarnations.fromAbove(t, [receivedChange], noteSeen(t, [receivedChange], seenPorts));
    });
  const alarms = () => store.read((reader) => incarnations.alarms(reader));
  /** True if the report has new data. */
  const hasNewReport = () => {
    const head = () => store.read((reader) => outbox.head(reader));
    const before = head();
    store.write((t) => reportSeenRevisions(t, outbox));
    return head() > before;
  };
  const row = (table: FeedProducer, key: string) =>
    store.read((reader) => {
      const found = table.get(reader, hash128(key));
      return found?.content && attributesOf(table.content(reader, found.content));
    });

  it('are sent to a child, so that the child knows which of its rows were lost', () => {
    store.write((t) => incarnations.sendGaps(t, mailbox));
    expect(row(mailbox, entryKey.incarnations(source))).toEqual({ gaps: [[100, 1_000]] });
    const lost = (key: string, of: number) => store.read((reader) => isLostRow(reader, mailbox, key, of));
    const object = `o/${source}//configmaps/n/a`;
    expect([100, 101, 999, 1_000].map((of) => lost(object, of))).toEqual([false, true, true, false]);
    expect(lost(`t/${source}/p`, 500)).toBe(true);
    expect(lost('o/eu.ops//configmaps/n/a', 500)).toBe(false);
    expect(lost(`g/${source}/p`, 500)).toBe(false);
  });

  it('are passed on from above, to present and to new children', () => {
    const above = 'eu.ops';
    receiveGaps(above, { gaps: [[0, 7]] });
    expect(row(mailbox, entryKey.incarnations(above))).toEqual({ gaps: [[0, 7]] });
    receiveGaps(above, { gaps: [[0, 9]] });
    expect(row(mailbox, entryKey.incarnations(above))).toEqual({ gaps: [[0, 9]] });
    const other = store.write((t) => {
      const made = FeedProducer.open(t, { name: 'mailbox/other', bootNonce: 'aa', random: new SeededRandom(2) });
      incarnations.sendGaps(t, made);
      return made;
    });
    expect(row(other, entryKey.incarnations(above))).toEqual({ gaps: [[0, 9]] });
    expect(store.read((reader) => readSeen(reader, above))).toBe(0);
    expect(hasNewReport()).toBe(false);
    const head = store.read((reader) => mailbox.head(reader));
    store.write((t) => incarnations.fromAbove(t, [change(`o/${above}//configmaps/n/a`, 3)], []));
    expect(store.read((reader) => mailbox.head(reader))).toBe(head);
  });

  it('are taken back from the children when the space is removed, here or above', () => {
    const gone: string[] = [];
    store.subscribe(sourceRemovedTopic, (sources) => gone.push(...sources));
    store.write((t) => incarnations.sendGaps(t, mailbox));
    store.write((t) => incarnations.removed(t, source));
    expect(row(mailbox, entryKey.incarnations(source))).toBeUndefined();
    const above = 'eu.ops';
    receiveGaps(above, { gaps: [[0, 7]] });
    const { after: _, ...removal } = change(entryKey.incarnations(above), 0);
    store.write((t) => incarnations.fromAbove(t, [removal], []));
    expect(row(mailbox, entryKey.incarnations(above))).toBeUndefined();
    expect(gone).toEqual([source, above]);
  });

  it('raise an alarm when a child has received revisions that the space does not know', () => {
    receiveSeen(100);
    receiveSeen(1_003);
    expect(alarms()).toEqual([]);
    receiveSeen(500);
    expect(alarms()).toMatchObject([{ source, had: 100, seen: 500 }]);
    expect(alarmed).toHaveLength(1);
    expect(raised).toEqual([]);
  });

  it('have one alarm for one loss, with the newest revision', () => {
    for (const seen of [500, 400, 600]) receiveSeen(seen);
    expect(alarms()).toMatchObject([{ seen: 600 }]);
    expect(alarmed.map(({ token }) => token)).toEqual([alarms()[0]!.token, alarms()[0]!.token]);
  });

  it('ignore revisions that are years ahead, here or further up', () => {
    const year = 366 * 24 * 3_600_000;
    receiveSeen(year + 1);
    receiveSeen(2 ** 48 - 1);
    receiveGaps('eu.ops', { gaps: [] });
    receiveSeen(2 ** 48 - 1, 'eu.ops');
    expect(disbelieved).toEqual([`${source} ${year + 1}`, `${source} ${2 ** 48 - 1}`, `eu.ops ${2 ** 48 - 1}`]);
    expect([raised, alarms(), row(outbox, entryKey.seen('eu.ops'))]).toEqual([[], [], undefined]);
    receiveSeen(year);
    expect(raised).toEqual([year]);
  });

  it('continue behind the reported revision if the clock is behind it, and send the children the gap', () => {
    receiveSeen(2_000);
    expect(raised).toEqual([2_000]);
    expect(row(mailbox, entryKey.incarnations(source))).toEqual({
      gaps: [
        [100, 1_000],
        [1_005, 2_001],
      ],
    });
    expect(alarms()).toMatchObject([{ had: 1_005, seen: 2_000 }]);
    receiveSeen(2_000);
    expect(raised).toEqual([2_000]);
  });

  it('treat an alarm as handled once it is approved, until there is another loss', () => {
    receiveSeen(500);
    const [{ token }] = alarms() as [RolledBackAttributes];
    expect(store.write((t) => incarnations.acknowledge(t, 'another'))).toBe(false);
    expect(store.write((t) => incarnations.acknowledge(t, token))).toBe(true);
    receiveSeen(600);
    expect(alarms()).toEqual([]);
    gaps = [...gaps, [1_005, 5_000]];
    receiveSeen(1_500);
    expect(alarms()).toMatchObject([{ had: 1_005 }]);
  });

  it('of spaces further up are passed on as the highest revision that any child reported', () => {
    receiveGaps('center.platform', { gaps: [] });
    receiveSeen(7, 'center.platform');
    receiveSeen(5, 'center.platform');
    expect(row(outbox, entryKey.seen('center.platform'))).toEqual({ revision: 7 });
  });

  it('of an unknown space are passed on when something of it comes from above: children may invent names', () => {
    for (let i = 0; i < 1_000; i++) receiveSeen(1, `center.nobody-${i}`);
    receiveSeen(7, 'center.platform');
    expect(store.read((reader) => outbox.digest(reader).count)).toBe(0);
    receiveGaps('center.platform', { gaps: [] });
    expect(row(outbox, entryKey.seen('center.platform'))).toEqual({ revision: 7 });
    receiveGaps('eu.ops', { gaps: [] });
    expect(store.read((reader) => outbox.digest(reader).count)).toBe(1);
  });

  it('ignore a parent’s revision that no space can have given, and still report the right ones', () => {
    const falseRevision = 2 ** 47;
    store.write((t) => t.put(concat(prefixOf('seenRevision'), text(source)), u48(falseRevision)));
    store.write((t) => noteSeen(t, [change('t/eu.ops/p', falseRevision), change('t/eu.ops/q', 4)], seenPorts));
    store.write((t) => noteSeen(t, [change(`t/${source}/p`, 9)], seenPorts));
    expect(disbelieved).toEqual([`eu.ops ${falseRevision}`]);
    expect(store.read((reader) => [readSeen(reader, 'eu.ops'), readSeen(reader, source)])).toEqual([4, 9]);
  });

  it('report the revisions that came down for spaces, and no rows that count for themselves', () => {
    store.write((t) => {
      noteSeen(
        t,
        [change(`o/${source}//configmaps/n/a`, 8), change(`t/${source}/p`, 9), change(`w/${source}/p`, 99)],
        seenPorts,
      );
      noteSeen(t, [change(`o/${source}//configmaps/n/b`, 3)], seenPorts);
    });
    expect(store.read((reader) => readSeen(reader, source))).toBe(9);
    expect(hasNewReport()).toBe(true);
    expect(hasNewReport()).toBe(false);
    expect(row(outbox, entryKey.seen(source))).toEqual({ revision: 9 });
  });
});
