import { beforeEach, describe, expect, it } from 'vitest';
import { LocalTable } from '../../../../core/feed/table.ts';
import { producerRowsTopic } from '../../../../core/feed/topics.ts';
import { canonicalBytes, stableStringify } from '../../../../core/object/canonical.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { childrenOfMailboxes, Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { InventoryBelow } from '../../../../relay/schedule/inventory-below.ts';
import { noteSourceChange } from '../../../../relay/schedule/source-changes.ts';
import { dropRow, putRow } from '../../../../relay/spaces/source-rows.ts';
import { clearDirty, dirtyWork } from '../../../../relay/work/dirty.ts';

const source = 'center.fleet';

describe('inventory on its way down', () => {
  let store: MemoryStore;
  let table: LocalTable;
  let mailboxes: Mailboxes;
  let below: InventoryBelow;
  let wrote: string[];
  let changedBelow: string[];
  let revision: number;

  beforeEach(() => {
    store = new MemoryStore();
    store.subscribe(producerRowsTopic, (tables) => wrote.push(...childrenOfMailboxes(tables)));
    table = store.write((t) => LocalTable.open(t, `source/${source}`));
    revision = 0;
    start();
    store.write((t) => {
      for (const relay of ['paris', 'rome']) mailboxes.ensure(t, relay, 'relay');
      mailboxes.ensure(t, 'till', 'agent');
    });
  });

  function start(path = 'eu'): void {
    mailboxes = new Mailboxes(store, new SeededRandom(1), 'boot', path);
    wrote = [];
    changedBelow = [];
    below = new InventoryBelow({
      path,
      tableOf: (name) => (name === source ? table : undefined),
      mailboxOf: (child) => mailboxes.get(child),
      replicasOf: (child) => mailboxes.replicasOf(child),
      changedBelow: (_t, child) => changedBelow.push(child),
    });
  }
  const rows = {
    get table() {
      return table;
    },
    noteChange: noteSourceChange,
  };
  function put(name: string, path: string, note = ''): void {
    const syncTarget = { apiVersion: 'v1', kind: 'SyncTarget', metadata: { name, annotations: { note } } };
    const body = canonicalBytes({ ...syncTarget, syncTarget, locations: [] });
    const attributes = text(stableStringify({ path }));
    store.write((t) => putRow(t, rows, { key: `i/${source}/${name}`, attributes, body }, ++revision));
  }
  function drop(name: string): void {
    store.write((t) => dropRow(t, rows, `i/${source}/${name}`, ++revision));
  }
  /** Runs steps until no work is left; returns the children whose mailboxes changed. */
  function settle(): string[] {
    wrote = [];
    while (store.write((t) => below.step(t)));
    return [...wrote].sort();
  }
  function has(child: string): string[] {
    return store.read((reader) => {
      const { producer } = mailboxes.get(child)!;
      const live = [...producer.rows(reader)].filter((row) => row.content);
      return live.map((row) => producer.content(reader, row.content!).key.split('/')[2]!).sort();
    });
  }
  /** Agents that are to be checked again. */
  function marked(): string[] {
    return store.write((t) => {
      const keys = dirtyWork(t, 'child', 10).map(({ key }) => key);
      for (const key of keys) clearDirty(t, 'child', key);
      return keys;
    });
  }
  const at = (child: string) => store.read((reader) => below.rowsAt(reader, child).map(({ origin }) => origin));

  it('goes to the first relay on its path, and to nobody else', () => {
    put('a', 'eu:paris:a');
    put('b', 'eu:paris:north:b');
    put('c', 'us:paris:c');
    expect(settle()).toEqual(['paris']);
    expect([has('paris'), has('rome'), has('till'), marked()]).toEqual([['a', 'b'], [], [], []]);
  });

  it('is shared with the relay by reference', () => {
    put('a', 'eu:paris:a');
    settle();
    store.read((reader) => {
      const keyHash = hash128(`i/${source}/a`);
      const given = mailboxes.get('paris')!.producer.get(reader, keyHash)?.content;
      expect(given).toEqual(table.get(reader, keyHash)?.content);
    });
  });

  it('ends at the parent of the agent, which marks the agent, whether it has a mailbox or not; agents get no row', () => {
    put('a', 'eu:till');
    put('b', 'eu:new');
    put('c', 'eu:till');
    expect(settle()).toEqual([]);
    expect(marked()).toEqual(['new', 'till']);
    expect([at('till'), at('new'), at('paris'), has('till')]).toEqual([
      [`${source}/a`, `${source}/c`],
      [`${source}/b`],
      [],
      [],
    ]);
  });

  it('follows its path: from one relay to the other, and to an agent', () => {
    put('a', 'eu:paris:a');
    settle();
    put('a', 'eu:rome:a');
    expect(settle()).toEqual(['paris', 'rome']);
    expect([has('paris'), has('rome')]).toEqual([[], ['a']]);
    put('a', 'eu:till');
    expect(settle()).toEqual(['rome']);
    expect([has('rome'), marked(), at('till')]).toEqual([[], ['till'], [`${source}/a`]]);
    put('a', 'eu:paris:a');
    expect(settle()).toEqual(['paris']);
    expect([has('paris'), marked(), at('till')]).toEqual([['a'], ['till'], []]);
  });

  it('goes with its SyncTarget', () => {
    put('a', 'eu:paris:a');
    put('b', 'eu:till');
    settle();
    marked();
    drop('a');
    drop('b');
    expect(settle()).toEqual(['paris']);
    expect([has('paris'), marked(), at('till')]).toEqual([[], ['till'], []]);
  });

  it('is one piece of work for many changes, and none for other children', () => {
    put('a', 'eu:paris:a');
    put('b', 'eu:rome:b');
    settle();
    for (const note of ['1', '2', '3']) put('b', 'eu:rome:b', note);
    expect(store.read((reader) => dirtyWork(reader, 'inventory', 10).length)).toBe(1);
    expect(settle()).toEqual(['rome']);
  });

  it('waits for a relay that is no child yet, also over a restart, and does not pass through an agent', () => {
    put('a', 'eu:oslo:a');
    put('b', 'eu:oslo-north:b');
    put('c', 'eu:till:c');
    settle();
    start();
    store.write((t) => {
      mailboxes.ensure(t, 'oslo', 'relay');
      below.relayAdded(t, 'oslo');
    });
    expect(settle()).toEqual(['oslo']);
    expect([has('oslo'), has('till'), at('till')]).toEqual([['a'], [], []]);
  });

  it('goes down from the center, whose path is empty', () => {
    start('');
    store.write((t) => mailboxes.ensure(t, 'eu', 'relay'));
    put('a', 'eu:paris:a');
    put('b', 'hq');
    settle();
    expect([has('eu'), marked(), at('hq')]).toEqual([['a'], ['hq'], [`${source}/b`]]);
  });
});
