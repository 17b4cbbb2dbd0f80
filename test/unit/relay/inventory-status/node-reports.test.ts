import { describe, expect, it } from 'vitest';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../core/apiserver/verbs/embedded-space.ts';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import type { SessionStatus } from '../../../../core/session/parent-ports.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { NodeReports } from '../../../../relay/inventory-status/node-reports.ts';
import type { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';

/** A center; its child `eu` reports many relays. */
function center() {
  const store = new MemoryStore();
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const storage = new EmbeddedStorage({ store, name: 'system', logger: silentLogger, hook: () => {} });
  const kinds = new SpaceKinds(storage, ownKinds('System'));
  const space = new EmbeddedSpace({
    name: 'system',
    storage,
    kinds,
    clock,
    random,
    fields: fieldManager,
    admissions: [],
  });
  const reported = store.write((t) => LocalTable.open(t, 'reported/eu'));
  const reports = new NodeReports({
    space,
    path: '',
    software: 'test',
    labels: {},
    advertised: { api: 'center.example.com:6443' },
    clock,
    store,
    children: new Map(),
    mailboxes: { get: () => ({ reported }) } as unknown as Mailboxes,
    outbox: store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'aa', random })),
    inventories: () => new Map(),
    connection: () => ({ connected: true }) as SessionStatus,
    attached: () => undefined,
    diverged: () => undefined,
    rootAgeMs: () => 0,
    heldInMailbox: () => undefined,
    guarded: () => ({}),
    refusedClaims: () => undefined,
  });
  const attributes = Buffer.from('{"role":"relay","version":"1","session":{"state":"Connected"}}');
  const receiveReports = (count: number) =>
    store.write((t) => {
      const changes = Array.from({ length: count }, (_, i) => {
        const after = { key: entryKey.node(`eu:r${i}`), attributes, body: new Uint8Array(0) };
        reported.put(t, after, 0);
        return { key: after.key, keyHash: hash128(after.key), originRevision: 0, after };
      });
      reports.pass(t, 'eu', changes);
    });
  /** Without the center itself. */
  const shown = () => storage.scan({ group: 'mesh.banyan.io', resource: 'nodes' }).length - 1;
  const own = () => space.get({ group: 'mesh.banyan.io', resource: 'nodes', name: 'center', namespace: '' })?.status;
  return { clock, reports, receiveReports, shown, own };
}

describe('the Node object of a node', () => {
  it('shows the addresses that the node advertises, as soon as the node serves', () => {
    const { clock, reports, own } = center();
    reports.start();
    clock.advance(0);
    reports.stop();
    expect(own()).toMatchObject({ version: 'test', advertised: { api: 'center.example.com:6443' } });
  });
});

describe('the reports of a node about many relays below a child', () => {
  it('are updated in bounded runs, without any other event', () => {
    const { clock, reports, receiveReports, shown } = center();
    receiveReports(120);
    reports.start();
    const counts = [0, 1_000, 1_000, 1_000].map((ms) => {
      clock.advance(ms);
      return shown();
    });
    reports.stop();
    expect(counts).toEqual([50, 100, 120, 120]);
  });
});
