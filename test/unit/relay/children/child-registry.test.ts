import { beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { decodeLabelSummary, type LabelSet } from '../../../../core/match/label-summary.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { LabelSelector, Labels } from '../../../../core/object/selector.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import { changedKeys } from '../../../../relay/children/changed-keys.ts';
import { ChildRegistry } from '../../../../relay/children/child-registry.ts';
import { matchChild } from '../../../../relay/children/children.ts';
import { Evictions } from '../../../../relay/children/evictions.ts';
import {
  Inventory,
  type InventoryRow,
  locationResource,
  syncTargetResource,
} from '../../../../relay/children/inventory.ts';
import { labelSummaryShrinkDelayMs } from '../../../../relay/children/label-summary-publisher.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { clearDirty, dirtyWork, markDirty } from '../../../../relay/work/dirty.ts';
import { openChildClaims } from '../support/open-claims.ts';

const apiVersion = 'inventory.banyan.io/v1alpha1';
const hour = 3_600_000;

describe('the children of a node', () => {
  const random = new SeededRandom(1);
  let store: MemoryStore;
  let clock: VirtualClock;
  let storage: EmbeddedStorage;
  let outbox: FeedProducer;
  let book: ChildRegistry;
  let inherited: Labels;
  let rows: (InventoryRow & { child: string })[];
  let announced: string[];
  /** Called in the transaction of a change of the inventory, after the child registry. */
  let also: () => void;

  beforeEach(() => {
    store = new MemoryStore();
    clock = new VirtualClock();
    inherited = { region: 'eu' };
    [rows, announced] = [[], []];
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
    book = new ChildRegistry({
      counting: { isOtherReplica: false, counts: () => true },
      revocations: { all: () => ({ users: {}, nodes: {} }) },
      metricsAccounts: { issuers: () => [] },
      authorities: () => undefined,
      summaryReported: () => undefined,
      claims: openChildClaims(),
      inventory,
      mailboxes: new Mailboxes(store, random, 'boot', ''),
      outbox,
      clock,
      write: (act: (t: Transaction) => void) => store.write(act),
      evictions: new Evictions(clock, mark),
      rowsAt: (_reader, child) => rows.filter((row) => row.child === child),
      relayAdded: (_t, child) => announced.push(child),
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
  function reported(): readonly LabelSet[] {
    return store.read((reader) => {
      const row = outbox.get(reader, hash128(entryKey.labels()))!;
      return decodeLabelSummary(outbox.content(reader, row.content!).attributes).sets!;
    });
  }

  it('are reported to the parent in the transaction of the change, before anything is matched', () => {
    syncTarget('till', { properties: { 'carbon.gPerKWh': '120' } }, { tier: 'front' });
    location('till', { site: 'paris' });
    const properties = { 'carbon.gPerKWh': '120' };
    const targetLabels = { tier: 'front' };
    expect(reported()).toEqual([{ leaves: 1, labels: { region: 'eu', site: 'paris' }, properties, targetLabels }]);
    settle();
    syncTarget('till', { properties: { 'carbon.gPerKWh': '80' } }, { tier: 'front' });
    expect(reported()[0]?.properties).toEqual({ 'carbon.gPerKWh': '80' });
    expect(dirty()).toEqual(['till']);
  });

  it('are reported correctly after a failed transaction', () => {
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
    expect(reported().map(({ labels }) => labels.site)).toEqual(['oslo', 'paris']);
  });

  it('are one leaf each, with every Location that selects it', () => {
    for (const name of ['a', 'b']) syncTarget(name, {}, { tier: 'front' });
    location('fronts', { site: 'paris' }, { matchLabels: { tier: 'front' } });
    location('a', { site: 'rome' });
    settle();
    expect(
      reported().map(({ leaves, labels, others }) => [leaves, labels.site, others?.map((one) => one.labels.site)]),
    ).toEqual(
      expect.arrayContaining([
        [1, 'paris', ['rome']],
        [1, 'paris', undefined],
      ]),
    );
    expect(book.children.get('b')?.destinations.map((one) => one.location)).toEqual(['fronts']);
  });

  it('change with their properties at run time', () => {
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

  it('are no destinations from evictAfter on, whether that time is past or future', () => {
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
    expect(reported().map(({ labels, cordoned }) => [labels.site, cordoned])).toEqual([['never', true]]);
  });

  it('are matched again after a start if a time has passed meanwhile, or the labels of the node differ', () => {
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

  function row(child: string, name: string, labels: Labels, spec: object = {}): void {
    const object = (kind: string, named: string) => ({
      apiVersion,
      kind,
      metadata: { name: named, labels, uid: named },
    });
    const syncTarget = { ...object('SyncTarget', name), spec };
    rows.push({ child, origin: `center.fleet/${name}`, syncTarget, locations: [object('Location', 'cafes')] });
    store.write((t) => markDirty(t, 'child', child));
    settle();
  }

  it('are named by inventory spaces too: one destination for each pair, with inherited labels below its own', () => {
    syncTarget('till');
    location('till', { site: 'paris' });
    row('till', 'one', { region: 'south' }, { properties: { seats: '4' } });
    row('till', 'two', { site: 'rome' });
    const { destinations } = book.children.get('till')!;
    expect(destinations.map((one) => [one.origin, one.location, one.labels, one.syncTargetUid])).toEqual([
      [undefined, 'till', { region: 'eu', site: 'paris' }, ''],
      ['center.fleet/one', 'cafes', { region: 'south' }, 'one'],
      ['center.fleet/two', 'cafes', { region: 'eu', site: 'rome' }, 'two'],
    ]);
    expect(destinations.map(({ evaluate }) => evaluate('properties.seats == "4"'))).toEqual([false, true, false]);
    expect(reported().map(({ leaves, others }) => [leaves, others?.length])).toEqual([[1, 2]]);
    expect(changedKeys(book.children.get('till'), book.children.get('till'))).toEqual(new Set());
  });

  it('may join if only an inventory space names them, as long as it does', () => {
    const joins = () => store.write((t) => book.feedsOf(t, 'cafe', 'agent'));
    expect(joins).toThrow('nor one with spec.attachTo "cafe" in an inventory space here or above');
    row('cafe', 'one', { kind: 'cafe' });
    expect(joins()).toHaveProperty('producer');
    rows = [];
    store.write((t) => markDirty(t, 'child', 'cafe'));
    settle();
    clock.advance(labelSummaryShrinkDelayMs);
    expect([book.children.has('cafe'), reported()]).toEqual([false, []]);
    expect(joins).toThrow('there is no SyncTarget "cafe" here');
  });

  it('are cordoned and evicted by each SyncTarget separately', () => {
    const evictAfter = new Date(clock.wallMs() + hour).toISOString();
    row('till', 'one', { site: 'paris' }, { unschedulable: true });
    row('till', 'two', { site: 'rome' }, { evictAfter });
    row('till', 'three', { site: 'oslo' }, { evictAfter: new Date(clock.wallMs() + 2 * hour).toISOString() });
    const sites = () => book.children.get('till')!.destinations.map(({ labels, cordoned }) => [labels.site, cordoned]);
    expect(sites()).toEqual([
      ['paris', true],
      ['rome', undefined],
      ['oslo', undefined],
    ]);
    const rule = (site: string, children: string[] = []) => ({
      id: 's/p',
      source: 's',
      name: 'p',
      locationSelectors: [{ matchLabels: { site } }],
      children: new Set(children),
    });
    const matches = (...of: Parameters<typeof rule>) => matchChild(rule(...of), book.children.get('till')!).matches;
    expect([matches('paris'), matches('paris', ['till']), matches('rome')]).toEqual([false, true, true]);
    for (const left of [['paris', 'oslo'], ['paris']]) {
      clock.advance(hour);
      expect(dirty()).toEqual(['till']);
      settle();
      expect(sites().map(([site]) => site)).toEqual(left);
    }
  });

  it('are asked for their inventory once if they are new relays', () => {
    store.write((t) => book.feedsOf(t, 'paris', 'relay'));
    store.write((t) => book.feedsOf(t, 'paris', 'relay'));
    expect(announced).toEqual(['paris']);
  });

  it('get all entries again if they are relays without a label summary, which may wait for this node before they report one', () => {
    const { consumer } = store.write((t) => book.feedsOf(t, 'paris', 'relay'));
    const reports = (key: string, from: number) =>
      store.write((t) =>
        consumer.apply(t, {
          epoch: 'lost',
          incarnation: 'lost',
          from,
          to: from + 1,
          head: from + 1,
          entries: [
            {
              keyHash: hash128(key),
              revision: from + 1,
              originRevision: 0,
              content: { key, attributes: text('{"sets":[],"leaves":0}'), body: new Uint8Array(0) },
            },
          ],
        }),
      );
    const comesAgain = () => {
      store.write((t) => book.feedsOf(t, 'paris', 'relay'));
      return store.read((reader) => consumer.resume(reader));
    };
    reports('node/paris', 0);
    expect(comesAgain()).toMatchObject({ epoch: '', incarnation: '', cursor: 0 });
    reports(entryKey.labels(), 0);
    expect(comesAgain()).toMatchObject({ epoch: 'lost', incarnation: 'lost', cursor: 1 });
  });
});
