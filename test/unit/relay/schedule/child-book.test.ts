import { beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { decodeLabelSummary, type LabelSet } from '../../../../core/match/label-summary.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { LabelSelector, Labels } from '../../../../core/object/selector.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { labelsKey } from '../../../../core/wire/entries.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { ChildBook } from '../../../../relay/schedule/child-book.ts';
import { clearDirty, dirtyWork, markDirty } from '../../../../relay/schedule/dirty.ts';
import { Evictions } from '../../../../relay/schedule/evictions.ts';
import { Inventory, locationResource, syncTargetResource } from '../../../../relay/schedule/inventory.ts';

const apiVersion = 'inventory.banyan.io/v1alpha1';
const hour = 3_600_000;

describe('the children of a node', () => {
  const random = new SeededRandom(1);
  let store: MemoryStore;
  let clock: VirtualClock;
  let storage: EmbeddedStorage;
  let outbox: FeedProducer;
  let book: ChildBook;
  let inherited: Labels;
  /** Called in the transaction of a change of the inventory, after the book. */
  let also: () => void;

  beforeEach(() => {
    store = new MemoryStore();
    clock = new VirtualClock();
    inherited = { region: 'eu' };
    also = () => undefined;
    let inventory: Inventory | undefined;
    storage = new EmbeddedStorage({
      store,
      name: 'system',
      logger: silentLogger,
      hook: (t, event) => {
        for (const name of inventory?.note(event) ?? []) {
          markDirty(t, 'child', name);
          book.widen(t, name);
        }
        also();
      },
    });
    inventory = new Inventory(storage);
    outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random }));
    start(inventory);
  });

  function start(inventory = new Inventory(storage)): void {
    const mark = (names: readonly string[]) =>
      store.write((t) => {
        for (const name of names) markDirty(t, 'child', name);
      });
    book = new ChildBook({
      inventory,
      mailboxes: new Mailboxes(store, random, 'boot'),
      outbox,
      clock,
      write: (act: (t: Transaction) => void) => store.write(act),
      evictions: new Evictions(clock, mark),
      inherited: () => inherited,
      path: '',
    });
    store.write((t) => book.load(t));
  }

  function syncTarget(name: string, spec: object = {}, labels: Labels = {}): void {
    const body = canonicalBytes({ apiVersion, kind: 'SyncTarget', metadata: { name, labels }, spec });
    storage.write((writer) => writer.put({ ...syncTargetResource, namespace: '', name }, body));
  }

  function location(name: string, labels: Labels = {}, instanceSelector?: LabelSelector): void {
    const spec = instanceSelector ? { instanceSelector } : {};
    const body = canonicalBytes({ apiVersion, kind: 'Location', metadata: { name, labels }, spec });
    storage.write((writer) => writer.put({ ...locationResource, namespace: '', name }, body));
  }

  const dirty = () => store.read((reader) => dirtyWork(reader, 'child', 100).map(({ key }) => key));
  function settle(): void {
    store.write((t) => {
      for (const name of dirty()) {
        book.refresh(t, name);
        clearDirty(t, 'child', name);
      }
    });
  }
  function told(): readonly LabelSet[] {
    return store.read((reader) => {
      const row = outbox.get(reader, hash128(labelsKey))!;
      return decodeLabelSummary(outbox.content(reader, row.content!).attributes).sets!;
    });
  }

  it('are told to the parent in the transaction of the change, before anything is matched', () => {
    syncTarget('till', { properties: { 'carbon.gPerKWh': '120' } }, { tier: 'front' });
    location('till', { site: 'paris' });
    const properties = { 'carbon.gPerKWh': '120' };
    const targetLabels = { tier: 'front' };
    expect(told()).toEqual([{ leaves: 1, labels: { region: 'eu', site: 'paris' }, properties, targetLabels }]);
    settle();
    syncTarget('till', { properties: { 'carbon.gPerKWh': '80' } }, { tier: 'front' });
    expect(told()[0]?.properties).toEqual({ 'carbon.gPerKWh': '80' });
    expect(dirty()).toEqual(['till']);
  });

  it('are told as they are when a transaction has failed', () => {
    syncTarget('till');
    location('till', { site: 'paris' });
    settle();
    also = () => {
      throw new Error('refused');
    };
    expect(() => location('till', { site: 'rome' })).toThrow('refused');
    also = () => undefined;
    syncTarget('other');
    location('other', { site: 'oslo' });
    clock.advance(1);
    expect(told().map(({ labels }) => labels.site)).toEqual(['oslo', 'paris']);
  });

  it('are one leaf each, with every Location that selects it', () => {
    for (const name of ['a', 'b']) syncTarget(name, {}, { tier: 'front' });
    location('fronts', { site: 'paris' }, { matchLabels: { tier: 'front' } });
    location('a', { site: 'rome' });
    settle();
    expect(
      told().map(({ leaves, labels, others }) => [leaves, labels.site, others?.map((one) => one.labels.site)]),
    ).toEqual(
      expect.arrayContaining([
        [1, 'paris', ['rome']],
        [1, 'paris', undefined],
      ]),
    );
    expect(book.children.get('b')?.destinations.map((one) => one.location)).toEqual(['fronts']);
  });

  it('change with their properties while they run', () => {
    syncTarget('till', { properties: { load: '1' } });
    location('till');
    settle();
    const before = book.children.get('till')!.destinations[0]!;
    syncTarget('till', { properties: { load: '2' } });
    settle();
    const after = book.children.get('till')!.destinations[0]!;
    expect([before, after].map((one) => one.evaluate('properties.load == "2"'))).toEqual([false, true]);
    expect(after.rest).toBe(before.rest);
  });

  it('are no destinations from evictAfter on, whether it is past or comes', () => {
    const at = (ms: number) => new Date(clock.wallMs() + ms).toISOString();
    for (const name of ['past', 'coming', 'never']) location(name, { site: name });
    syncTarget('past', { evictAfter: at(-1) });
    syncTarget('coming', { evictAfter: at(hour) });
    syncTarget('never', { unschedulable: true });
    settle();
    const places = () => ['past', 'coming', 'never'].map((name) => book.children.get(name)?.destinations.length);
    expect(places()).toEqual([0, 1, 1]);
    clock.advance(hour);
    expect(dirty()).toEqual(['coming']);
    settle();
    expect(places()).toEqual([0, 0, 1]);
    clock.advance(hour);
    expect(told().map(({ labels, cordoned }) => [labels.site, cordoned])).toEqual([['never', true]]);
  });

  it('are matched anew after a start when a time has passed meanwhile, or the labels of the node are others', () => {
    location('till');
    syncTarget('till', { evictAfter: new Date(clock.wallMs() + hour).toISOString() });
    settle();
    book.stop();
    start();
    expect(dirty()).toEqual([]);
    book.stop();
    clock.advance(hour);
    start();
    expect([dirty(), book.children.get('till')?.destinations]).toEqual([['till'], []]);
    syncTarget('till');
    settle();
    inherited = { region: 'us' };
    start();
    expect(dirty()).toEqual(['till']);
  });
});
