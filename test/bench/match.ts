/**
 * A label of one Location changes on a node with 10,000 of them and 10,000 placements: from the write in the inventory until the mailbox is right and the
 * parent's summary is written, in the memory of the store and not flushed. The benchmark has the node's own inventory, child registry, scheduler and LMDB
 * store, without sessions. Then the same label on a relay's summary of as many Locations.
 */

import { EmbeddedStorage } from '../../core/apiserver/storage/embedded.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { LocalTable } from '../../core/feed/table.ts';
import {
  decodeLabelSummary,
  encodeLabelSummary,
  mergeLabelSummaries,
  summaryOfAgent,
} from '../../core/match/label-summary.ts';
import { canonicalBytes } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { Labels } from '../../core/object/selector.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { SeededRandom } from '../../core/runtime/random.ts';
import { text } from '../../core/store/bytes.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import { changedKeys } from '../../relay/children/changed-keys.ts';
import { ChildRegistry } from '../../relay/children/child-registry.ts';
import { type Child, matchChild } from '../../relay/children/children.ts';
import { Evictions } from '../../relay/children/evictions.ts';
import { Inventory, locationResource, syncTargetResource } from '../../relay/children/inventory.ts';
import { Mailboxes } from '../../relay/mailbox/mailboxes.ts';
import { Placements } from '../../relay/placements/placements.ts';
import { Scheduler } from '../../relay/schedule/schedule.ts';
import { noteSourceChange } from '../../relay/schedule/source-changes.ts';
import { markDirty } from '../../relay/work/dirty.ts';
import { noGuard } from '../support/no-guard.ts';
import { openPassage } from '../support/open-passage.ts';
import { noReleases } from '../unit/relay/support/no-releases.ts';
import { openChildClaims } from '../unit/relay/support/open-claims.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median } from './measure.ts';

const locations = 10_000;
const placements = 10_000;
/** A hundredth of the placements names each value. */
const keys = 100;
const valuesPerKey = placements / keys;
const changes = 200;
const source = 'center.bench';
const apiVersion = 'inventory.banyan.io/v1alpha1';

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const store = LmdbStore.open({ directory: scratch.directory() }, silentLogger);
  scratch.use({ [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() });
  const node = openNode(store);
  scratch.use({ [Symbol.asyncDispose]: async () => node.stop() });
  progress(`${locations} Locations`);
  for (let i = 0; i < locations; i++) node.location(i, labelsOf(i), true);
  node.settle();
  progress(`${placements} placements`);
  for (let i = 0; i < placements; i++) node.placement(i);
  node.settle();
  await store.flushed();
  // After a start, the first change of a child checks all placements; it is not measured.
  const spent: number[] = [];
  const before = node.scheduler.lookedAt;
  for (let round = 0; round < changes; round++) {
    const started = performance.now();
    node.location(round, { ...labelsOf(round), [keyOf(round)]: labelOf(round + keys) });
    node.settle();
    spent.push(performance.now() - started);
    // Other benchmarks measure flushes.
    await store.flushed();
  }
  const looked = (node.scheduler.lookedAt - before) / changes;
  const relay = relayFigures(node.placements);
  return [
    { name: 'placements looked at', value: looked, unit: '', goal: { of: 'value', is: '≤', bound: valuesPerKey } },
    { name: 'one label, at its node', value: median(spent), unit: 'ms', goal: { of: 'value', is: '≤', bound: 5 } },
    ...relay,
  ];
}

const keyOf = (location: number) => `group-${location % keys}`;
const labelOf = (location: number) => `v${Math.floor(location / keys) % valuesPerKey}`;
const labelsOf = (location: number): Labels => ({
  site: `site-${location}`,
  tier: `t${location % 3}`,
  [keyOf(location)]: labelOf(location),
});

/** The work of a relay's parent when the relay's summary arrives: read it, find the changes, and match again the placements that name them. */
function relayFigures(all: Placements): Figure[] {
  const leaves = Array.from({ length: locations }, (_, i) =>
    summaryOfAgent([{ labels: labelsOf(i), properties: {}, targetLabels: {} }]),
  );
  const others = mergeLabelSummaries(leaves.slice(1));
  const encodedSummary = (value: string) =>
    encodeLabelSummary(
      mergeLabelSummaries([
        others,
        summaryOfAgent([{ labels: { ...labelsOf(0), [keyOf(0)]: value }, properties: {}, targetLabels: {} }]),
      ]),
    );
  const versions = [encodedSummary('v0'), encodedSummary('v1')] as const;
  const relay = (bytes: Uint8Array): Child => ({
    name: 'relay',
    role: 'relay',
    destinations: [],
    labels: decodeLabelSummary(bytes),
  });
  const spent: number[] = [];
  let looked = 0;
  let child = relay(versions[0]);
  for (let round = 1; round <= 50; round++) {
    const started = performance.now();
    const next = relay(versions[round % 2 === 0 ? 0 : 1]);
    const changed = changedKeys(child, next);
    if (changed === 'all') throw new Error('one label is everything');
    for (const placement of all.naming(changed)) {
      matchChild(placement, next);
      looked++;
    }
    spent.push(performance.now() - started);
    child = next;
  }
  return [
    {
      name: 'placements looked at, above',
      value: looked / 50,
      unit: '',
      goal: { of: 'value', is: '≤', bound: valuesPerKey },
    },
    { name: 'one label, above', value: median(spent), unit: 'ms' },
    { name: 'summary of all', value: versions[0].length / 1024, unit: 'KiB' },
  ];
}

function openNode(store: LmdbStore) {
  const random = new SeededRandom(1);
  const clock = systemClock;
  let book: ChildRegistry | undefined;
  let inventory: Inventory | undefined;
  const storage = new EmbeddedStorage({
    store,
    name: 'system',
    logger: silentLogger,
    hook: (t, event) => {
      for (const name of inventory?.note(event) ?? []) {
        markDirty(t, 'child', name);
        book?.widen(t, name);
      }
    },
  });
  inventory = new Inventory(storage);
  const mailboxes = new Mailboxes(store, random, 'boot', '');
  const outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'boot', random }));
  const table = store.write((t) => LocalTable.open(t, `source/${source}`));
  const openBook = new ChildRegistry({
    counting: { isOtherReplica: false, counts: () => true },
    revocations: { all: () => ({ users: {}, nodes: {} }) },
    metricsAccounts: { issuers: () => [] },
    authorities: () => undefined,
    summaryReported: () => undefined,
    claims: openChildClaims(),
    inventory,
    mailboxes,
    outbox,
    clock,
    write: (act) => store.write(act),
    evictions: new Evictions(clock, () => undefined),
    rowsAt: () => [],
    relayAdded: () => undefined,
    inherited: () => ({}),
    path: '',
  });
  book = openBook;
  store.write((t) => openBook.load(t));
  const known = new Placements();
  const scheduler = new Scheduler({
    tableOf: (name) => (name === source ? table : undefined),
    mailboxOf: (child) => mailboxes.get(child)?.producer,
    children: openBook.children,
    placements: known,
    refreshChild: (t, name) => openBook.refresh(t, name),
    askedChanged: () => undefined,
    auxiliaryChanged: () => undefined,
    releases: noReleases,
    stages: [],
    passage: openPassage,
    covered: () => ({}),
    guard: noGuard,
  });
  let revision = 0;
  const put = (key: string, attributes: object, body: string) =>
    store.write((t) => {
      const content = { key, attributes: text(JSON.stringify(attributes)), body: text(body) };
      const change: AppliedChange = { key, keyHash: hash128(key), originRevision: ++revision, after: content };
      if (table.put(t, content, change.originRevision)) noteSourceChange(t, change);
    });
  const write = (
    resource: typeof locationResource | typeof syncTargetResource,
    kind: string,
    name: string,
    labels: Labels,
  ) =>
    storage.write((writer) =>
      writer.put(
        { ...resource, namespace: '', name },
        canonicalBytes({ apiVersion, kind, metadata: { name, labels }, spec: {} }),
      ),
    );
  return {
    scheduler,
    placements: known,
    location(i: number, labels: Labels, isNew = false) {
      const name = `store-${i}`;
      if (isNew) write(syncTargetResource, 'SyncTarget', name, {});
      write(locationResource, 'Location', name, labels);
    },
    placement(i: number) {
      const id = `${source}/p${i}`;
      const spec = { locationSelectors: [{ matchLabels: { [keyOf(i)]: labelOf(i) } }] };
      put(`p/${id}`, {}, JSON.stringify({ spec }));
      put(`t/${id}`, { generation: 1, target: revision + 1, priority: 0, created: '', uid: '' }, '');
    },
    stop: () => openBook.stop(),
    settle() {
      while (store.write((t) => scheduler.step(t)));
    },
  };
}
