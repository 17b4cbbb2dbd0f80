import { beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import type { InventoryBody } from '../../../../core/entries/down-attributes.ts';
import { attributesOf } from '../../../../core/entries/entry-keys.ts';
import type { AppliedChange } from '../../../../core/feed/feed.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import type { LabelSelector, Labels } from '../../../../core/object/selector.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { locationResource, syncTargetResource } from '../../../../relay/children/inventory.ts';
import { InventoryRows } from '../../../../relay/spaces/inventory-rows.ts';

const apiVersion = 'inventory.banyan.io/v1alpha1';
const fronts = { matchLabels: { tier: 'front' } };

describe('an inventory space', () => {
  let store: MemoryStore;
  let storage: EmbeddedStorage;
  let rows: InventoryRows;
  let table: LocalTable;
  let changes: AppliedChange[];

  beforeEach(() => {
    store = new MemoryStore();
    table = store.write((t) => LocalTable.open(t, 'source/center.fleet'));
    storage = new EmbeddedStorage({
      store,
      name: 'fleet',
      logger: silentLogger,
      hook: (t, event) => rows.note(t, event),
    });
    start();
  });

  function start(): void {
    changes = [];
    rows = new InventoryRows({
      source: 'center.fleet',
      storage,
      table,
      noteChange: (_t, change) => changes.push(change),
    });
  }
  function syncTarget(name: string, attachTo?: string, labels: Labels = {}, more: object = {}): void {
    const metadata = { name, labels, uid: `uid-${name}` };
    const spec = attachTo === undefined ? {} : { attachTo };
    const body = canonicalBytes({ apiVersion, kind: 'SyncTarget', metadata, spec, ...more });
    storage.write((writer) => writer.put({ ...syncTargetResource, namespace: '', name }, body));
  }
  function location(name: string, instanceSelector?: LabelSelector, labels: Labels = {}): void {
    const spec = instanceSelector ? { instanceSelector } : {};
    const body = canonicalBytes({ apiVersion, kind: 'Location', metadata: { name, labels }, spec });
    storage.write((writer) => writer.put({ ...locationResource, namespace: '', name }, body));
  }
  function remove(resource: typeof locationResource | typeof syncTargetResource, name: string): void {
    storage.write((writer) => writer.remove({ ...resource, namespace: '', name }));
  }
  /** Keys of the rows that changed. */
  function settle(): string[] {
    changes = [];
    while (store.write((t) => rows.step(t)));
    return changes.map(({ key }) => key).sort();
  }
  const shown = () =>
    store.read((reader) =>
      Object.fromEntries(
        [...table.rows(reader)].map((row) => {
          const content = table.content(reader, row.content!);
          const body = JSON.parse(asText(content.body)) as InventoryBody;
          const names = body.locations.map(({ metadata }) => metadata.name);
          return [content.key, [attributesOf<{ path: string }>(content).path, ...names]];
        }),
      ),
    );

  it('makes one row of each SyncTarget, with the Locations that select it', () => {
    syncTarget('a', 'eu:a', { tier: 'front' });
    syncTarget('b', 'eu:b');
    location('zone', fronts);
    location('a');
    location('other');
    settle();
    expect(shown()).toEqual({ 'i/center.fleet/a': ['eu:a', 'a', 'zone'], 'i/center.fleet/b': ['eu:b'] });
  });

  it('changes the rows that a Location selects or selected, and no other', () => {
    syncTarget('a', 'eu:a', { tier: 'front' });
    syncTarget('b', 'eu:b', { tier: 'back' });
    syncTarget('c', 'eu:c');
    location('zone', fronts);
    settle();
    location('zone', { matchLabels: { tier: 'back' } });
    expect(settle()).toEqual(['i/center.fleet/a', 'i/center.fleet/b']);
    remove(locationResource, 'zone');
    expect(settle()).toEqual(['i/center.fleet/b']);
    location('c', undefined, { site: 'rome' });
    expect(settle()).toEqual(['i/center.fleet/c']);
  });

  it('knows the former selection of a Location also after several changes and a start', () => {
    syncTarget('a', 'eu:a', { tier: 'front' });
    location('zone', fronts);
    settle();
    location('zone', { matchLabels: { tier: 'back' } });
    remove(locationResource, 'zone');
    start();
    expect(settle()).toEqual(['i/center.fleet/a']);
    expect(shown()).toEqual({ 'i/center.fleet/a': ['eu:a'] });
  });

  it('moves the row of a SyncTarget that names another agent, and drops it with the SyncTarget', () => {
    syncTarget('a', 'eu:a');
    settle();
    syncTarget('a', 'us:a');
    expect(settle()).toEqual(['i/center.fleet/a']);
    expect(changes[0]?.before && attributesOf(changes[0].before)).toEqual({ path: 'eu:a' });
    remove(syncTargetResource, 'a');
    settle();
    expect(shown()).toEqual({});
  });

  it('makes none of a SyncTarget without an agent', () => {
    syncTarget('old');
    location('old');
    expect(settle()).toEqual([]);
  });

  it('has the author’s fields and the uid, and no status', () => {
    syncTarget('a', 'eu:a', {}, { status: { attachedTo: 'eu' } });
    settle();
    const body = JSON.parse(asText(changes[0]!.after!.body)) as InventoryBody;
    expect(body.syncTarget).toEqual({
      apiVersion,
      kind: 'SyncTarget',
      metadata: { name: 'a', uid: 'uid-a' },
      spec: { attachTo: 'eu:a' },
    });
    syncTarget('a', 'eu:a', {}, { status: { attachedTo: 'us' } });
    expect(settle()).toEqual([]);
  });

  it('has no work when a status is written, and has work when its author or a deletion changes it', () => {
    const hasWork = () => store.write((t) => rows.step(t));
    const status = { attachedTo: 'us' };
    syncTarget('a', 'eu:a');
    location('a');
    settle();
    syncTarget('a', 'eu:a', {}, { status });
    expect(hasWork()).toBe(false);
    syncTarget('a', 'eu:a', { tier: 'front' }, { status });
    expect(hasWork()).toBe(true);
    settle();
    remove(locationResource, 'a');
    expect(hasWork()).toBe(true);
  });
});
