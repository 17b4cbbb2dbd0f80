/**
 * A relay that was killed with a million mailbox entries in its store: from the start of its process until it reports that it is ready; over the same relay
 * with empty mailboxes. The relay itself makes the entries, from objects and a placement from above. One part has children that have acknowledged everything,
 * the other has absent children that have acknowledged nothing.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import { placementId } from '../../core/entries/placement-id.ts';
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { WireEntry } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { beginBoot, markCaughtUp } from '../../core/session/node-identity.ts';
import { text } from '../../core/store/bytes.ts';
import { openFormatted } from '../../core/store/format.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import { noteSourceChange } from '../../relay/schedule/source-changes.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median } from './measure.ts';
import { RelayProcess } from './relay-process.ts';

const path = 'eu';
const source = 'center.retail';
const placement = 'bench';
const clusters = Array.from({ length: 100 }, (_, i) => `kid-${i}`);
const objects = 10_000;
/** The number of objects: agents get a target row besides. */
const entries = clusters.length * objects;
const bodyBytes = 512;
const rounds = 5;
const slowRounds = 3;
const entriesAtOnce = 1_000;
const workedOffWithinMs = 600_000;
const readyWithinMs = 120_000;

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const data = { full: scratch.directory(), empty: scratch.directory() };
  const full = await RelayProcess.prepare(scratch, { path, data: data.full, clusters });
  const empty = await RelayProcess.prepare(scratch, { path, data: data.empty, clusters });
  await fill(data.full, objects);
  await fill(data.empty, 0);
  progress(`the relay makes ${entries.toLocaleString('en')} mailbox entries`);
  const bytesBefore = await usedBytes(data.full);
  const filledMs = await full.start(workedOffWithinMs);
  await full.end('SIGTERM');
  const bytesAfter = await usedBytes(data.full);
  await empty.start(readyWithinMs);
  await empty.end('SIGTERM');
  await checkEntries(data.full);
  const restart = async (relay: RelayProcess) => {
    const tookMs = await relay.start(readyWithinMs);
    await relay.end('SIGKILL');
    return tookMs;
  };
  const took = { unacknowledged: [] as number[], full: [] as number[], empty: [] as number[] };
  for (let round = 1; round <= slowRounds; round++) {
    progress(`nothing acknowledged, round ${round} of ${slowRounds}`);
    took.unacknowledged.push(await restart(full));
  }
  await acknowledgeAll(data.full);
  for (let round = 1; round <= rounds; round++) {
    progress(`all acknowledged, round ${round} of ${rounds}`);
    took.full.push(await restart(full));
    took.empty.push(await restart(empty));
  }
  const figure = (name: string, values: readonly number[]): Figure => ({
    name: `start to ready, ${name}`,
    value: median(values),
    unit: 'ms',
    baseline: { name: 'empty mailboxes', value: median(took.empty) },
    goal: { of: 'value', is: '≤', bound: 2_000 },
  });
  return [
    figure('all acknowledged', took.full),
    figure('none acknowledged', took.unacknowledged),
    { name: 'entries made', value: entries / (filledMs / 1_000), unit: 'entries/s' },
    { name: 'disk for an entry', value: (bytesAfter - bytesBefore) / entries, unit: 'B' },
  ];
}

/** The entries of a parent, as the relay stores them: it has caught up, and has processed none of them. */
async function fill(directory: string, count: number): Promise<void> {
  await using store = LmdbStore.open({ directory }, silentLogger);
  openFormatted(store, systemClock);
  const upstream = store.write((t) => {
    beginBoot(t, systemClock, systemRandom);
    markCaughtUp(t);
    return FeedConsumer.open(t, { name: 'upstream' });
  });
  const all = [...upstreamEntries(count)];
  for (let i = 0; i < all.length; i += entriesAtOnce) {
    store.write((t) => {
      for (const change of upstream.applyEntries(t, all.slice(i, i + entriesAtOnce))) noteSourceChange(t, change);
    });
    await store.flushed();
  }
  const epoch = Buffer.alloc(16, 1).toString('hex');
  const cursor = all.length;
  store.write((t) => upstream.setResume(t, { epoch, incarnation: epoch, cursor, seenHead: cursor }));
}

function* upstreamEntries(count: number): Generator<WireEntry> {
  const id = placementId(source, placement);
  const origin = { uid: '00000000-0000-4000-8000-000000000000', created: '2026-01-01T00:00:00Z', generation: 1 };
  const spec = {
    locationSelectors: [{ matchLabels: {} }],
    downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['*'] }],
  };
  let revision = 0;
  const entry = (key: string, attributes: object, body: Uint8Array): WireEntry => ({
    keyHash: hash128(key),
    revision: ++revision,
    originRevision: revision,
    content: { key, attributes: text(stableStringify(attributes)), body },
  });
  yield entry(entryKey.tree(), { path, labels: {} }, new Uint8Array(0));
  yield entry(entryKey.placement(id), origin, text(stableStringify({ spec })));
  for (let i = 0; i < count; i++) {
    const key = { group: '', resource: 'configmaps', namespace: 'bench', name: `object-${i}` };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', data: { i: String(i), filler: 'x'.repeat(bodyBytes) } };
    yield entry(entryKey.object(source, key), { ...origin, refs: [placement] }, text(stableStringify(body)));
  }
  yield entry(
    entryKey.target(id),
    { generation: 1, target: revision, priority: 0, created: '', uid: '' },
    new Uint8Array(0),
  );
}

/** With fewer entries, it would be no figure about a million entries. */
async function checkEntries(directory: string): Promise<void> {
  await using store = LmdbStore.open({ directory }, silentLogger);
  const found = store.write((t) => clusters.reduce((sum, child) => sum + openMailbox(t, child).digest(t).count, 0));
  if (found < entries) throw new Error(`the mailboxes hold ${found} entries of ${entries}`);
}

async function acknowledgeAll(directory: string): Promise<void> {
  await using store = LmdbStore.open({ directory }, silentLogger);
  for (const child of clusters) {
    store.write((t) => {
      const mailbox = openMailbox(t, child);
      mailbox.acknowledge(t, mailbox.head(t));
    });
    await store.flushed();
  }
}

function openMailbox(t: Parameters<typeof FeedProducer.open>[0], child: string): FeedProducer {
  return FeedProducer.open(t, { name: `mailbox/${child}`, bootNonce: '', random: systemRandom });
}

async function usedBytes(directory: string): Promise<number> {
  await using store = LmdbStore.open({ directory }, silentLogger);
  const { usedBytes: used, freeBytes } = store.size();
  return used - freeBytes;
}
