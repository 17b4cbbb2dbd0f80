import { beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import type { LabelSelector, Labels } from '../../../../core/object/selector.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Inventory, locationResource, syncTargetResource } from '../../../../relay/children/inventory.ts';

const apiVersion = 'inventory.banyan.io/v1alpha1';

describe('an inventory', () => {
  let storage: EmbeddedStorage;
  let inventory: Inventory;
  /** SyncTargets that the changes so far concern, in order. */
  let concerned: string[];

  beforeEach(() => {
    storage = new EmbeddedStorage({ store: new MemoryStore(), name: 'system', logger: silentLogger });
    inventory = new Inventory(storage);
    concerned = [];
    storage.subscribe((events) => {
      for (const event of events) concerned.push(...inventory.note(event));
    });
  });

  function syncTarget(name: string, labels: Labels = {}): void {
    const body = canonicalBytes({ apiVersion, kind: 'SyncTarget', metadata: { name, labels }, spec: {} });
    storage.write((writer) => writer.put({ ...syncTargetResource, namespace: '', name }, body));
  }

  function location(name: string, labels: Labels = {}, instanceSelector?: LabelSelector): void {
    const spec = instanceSelector ? { instanceSelector } : {};
    const body = canonicalBytes({ apiVersion, kind: 'Location', metadata: { name, labels }, spec });
    storage.write((writer) => writer.put({ ...locationResource, namespace: '', name }, body));
  }

  function remove(resource: typeof locationResource | typeof syncTargetResource, name: string): void {
    storage.write((writer) => writer.remove({ ...resource, namespace: '', name }));
  }

  const found = (name: string, inherited: Labels = {}) =>
    inventory.locationsOf(name, inherited).map((one) => [one.name, one.labels]);
  const changes = (act: () => void) => {
    concerned = [];
    act();
    return [...concerned].sort();
  };
  const front = { matchLabels: { tier: 'front' } };

  it('finds the Location with the name of a SyncTarget', () => {
    syncTarget('till');
    location('till', { site: 'paris' });
    location('other', { site: 'rome' });
    expect(found('till')).toEqual([['till', { site: 'paris' }]]);
  });

  it('finds the Locations whose instanceSelector selects a SyncTarget, and the Location of its name once', () => {
    syncTarget('till', { tier: 'front' });
    location('fronts', {}, front);
    location('backs', {}, { matchLabels: { tier: 'back' } });
    location('till', {}, front);
    expect(
      found('till')
        .map(([name]) => name)
        .sort(),
    ).toEqual(['fronts', 'till']);
  });

  it('does not find the Location of its name if that selects others', () => {
    syncTarget('till', { tier: 'front' });
    location('till', {}, { matchLabels: { tier: 'back' } });
    expect(found('till')).toEqual([]);
  });

  it('finds nothing for an unknown SyncTarget', () => {
    location('till');
    expect(found('till')).toEqual([]);
    expect(inventory.hasSyncTarget('till')).toBe(false);
  });

  it('gives the own labels of a Location precedence over the inherited ones', () => {
    syncTarget('till');
    location('till', { site: 'paris' });
    expect(found('till', { site: 'eu', region: 'eu' })).toEqual([['till', { site: 'paris', region: 'eu' }]]);
  });

  it('names its SyncTargets', () => {
    syncTarget('a');
    syncTarget('b');
    remove(syncTargetResource, 'a');
    expect(inventory.syncTargets()).toEqual(['b']);
  });

  it('reports a SyncTarget that comes, changes and goes', () => {
    expect(changes(() => syncTarget('a'))).toEqual(['a']);
    expect(changes(() => syncTarget('a', { tier: 'front' }))).toEqual(['a']);
    expect(changes(() => remove(syncTargetResource, 'a'))).toEqual(['a']);
  });

  it('reports the SyncTarget with the name of a Location that comes, changes and goes', () => {
    syncTarget('a');
    expect(changes(() => location('a'))).toEqual(['a']);
    expect(changes(() => location('a', { site: 'paris' }))).toEqual(['a']);
    expect(changes(() => remove(locationResource, 'a'))).toEqual(['a']);
  });

  it('reports the SyncTargets that a Location selected before and those that it selects now', () => {
    syncTarget('a', { tier: 'front' });
    syncTarget('b', { tier: 'back' });
    syncTarget('c', { tier: 'none' });
    expect(changes(() => location('some', {}, front))).toEqual(['a']);
    expect(changes(() => location('some', {}, { matchLabels: { tier: 'back' } }))).toEqual(['a', 'b']);
    expect(changes(() => remove(locationResource, 'some'))).toEqual(['b']);
    expect(found('b')).toEqual([]);
  });

  it('reports both when a Location gets or loses its selector', () => {
    syncTarget('a', { tier: 'front' });
    syncTarget('b');
    expect(changes(() => location('b'))).toEqual(['b']);
    expect(changes(() => location('b', {}, front))).toEqual(['a', 'b']);
    expect([found('a').length, found('b').length]).toEqual([1, 0]);
    expect(changes(() => location('b'))).toEqual(['a', 'b']);
    expect([found('a').length, found('b').length]).toEqual([0, 1]);
  });

  it('has the Locations that existed before it', () => {
    syncTarget('a', { tier: 'front' });
    location('fronts', { site: 'paris' }, front);
    inventory = new Inventory(storage);
    expect(found('a')).toEqual([['fronts', { site: 'paris' }]]);
  });
});
