import { beforeEach, describe, expect, it } from 'vitest';
import type { StorageEvent } from '../../../../core/apiserver/storage.ts';
import type { InventoryBody } from '../../../../core/entries/down-attributes.ts';
import type { SubtreeClaims } from '../../../../core/match/claims.ts';
import type { LabelSummary } from '../../../../core/match/label-summary.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import type { Labels } from '../../../../core/object/selector.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { ChildClaims } from '../../../../relay/children/child-claims.ts';
import { childOfChange, WrittenClaims } from '../../../../relay/children/written-claims.ts';
import { childrenSchema } from '../../../../relay/config/config.ts';

const oneLocation = (labels: Labels): LabelSummary => ({ leaves: 1, sets: [{ labels, leaves: 1 }] });

describe('the claims of a child', () => {
  let clock: VirtualClock;
  let store: MemoryStore;
  let written: SubtreeClaims | undefined;
  let given: SubtreeClaims | undefined;
  let below: InventoryBody[];
  let lines: string[];
  let counted: number;
  let claims: ChildClaims;

  beforeEach(() => {
    clock = new VirtualClock();
    store = new MemoryStore();
    [written, given, below, lines, counted] = [{ labels: { env: ['prod'] }, properties: {} }, undefined, [], [], 0];
    claims = new ChildClaims({
      path: 'eu',
      clock,
      log: { warn: (_fields: object | string, text?: string) => void lines.push(text ?? '') },
      written: () => written,
      given: () => given,
      inventoryBelow: () => below,
      measured: (refused) => {
        counted += refused;
      },
    });
  });

  const report = (labels: Labels, child = 'paris', inherited: Labels = {}) => {
    const { summary, refused } = claims.allowed(child, oneLocation(labels), inherited);
    store.write((t) => claims.note(t, child, refused));
    return summary.sets![0]!.labels;
  };

  it('are what was written, and everything if nothing was written', () => {
    expect(report({ env: 'prod', size: 'xl' })).toMatchObject({ env: 'prod' });
    expect(claims.refusedOf('paris')).toEqual({ count: 1, sample: ['label size=xl'] });
    written = undefined;
    expect(report({ size: 'xl' })).toMatchObject({ size: 'xl' });
    expect(claims.refusedOf('paris')).toBeUndefined();
  });

  it('have the path of the certificate, without the number of a replica', () => {
    expect(report({ 'tree.banyan.io/2': 'rome' }, 'paris~1')).toEqual({
      'tree.banyan.io/1': 'eu',
      'tree.banyan.io/2': 'paris',
    });
  });

  it('have what the topology and this node gave the subtree', () => {
    given = { labels: { tier: ['store'] }, properties: {} };
    expect(report({ tier: 'store', region: 'eu' }, 'paris', { region: 'eu' })).toMatchObject({
      tier: 'store',
      region: 'eu',
    });
    expect(report({ tier: 'vault' })).not.toHaveProperty('tier');
  });

  it('have what an inventory space gave the subtree, also when it came after the report', () => {
    expect(report({ size: 'xl' })).not.toHaveProperty('size');
    const metadata = { name: 'till', labels: { size: 'xl' } };
    below = [
      {
        syncTarget: { apiVersion: 'v1', kind: 'SyncTarget', metadata: { name: 'till' } },
        locations: [{ apiVersion: 'v1', kind: 'Location', metadata }],
      },
    ];
    expect(claims.inventoryChanged('paris')).toBe(true);
    expect(report({ size: 'xl' })).toHaveProperty('size');
    expect(claims.inventoryChanged('paris')).toBe(false);
  });

  it('that are refused are counted, and logged once a minute', () => {
    for (let i = 0; i < 10; i++) report({ [`lie${i}`]: 'x' });
    expect(lines).toHaveLength(1);
    expect(counted).toBe(10);
    report({ lie9: 'x' });
    expect(counted).toBe(10);
    clock.advance(60_000);
    report({ other: 'x' });
    expect(lines).toHaveLength(2);
  });

  it('are refused only if the transaction of the report is committed', () => {
    const { refused } = claims.allowed('paris', oneLocation({ lie: 'x' }), {});
    expect(() =>
      store.write((t) => {
        claims.note(t, 'paris', refused);
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(claims.refusedOf('paris')).toBeUndefined();
  });
});

describe('what people write about a child', () => {
  const objects = new Map<string, Uint8Array>();
  const written = new WrittenClaims(
    { get: ({ name }) => (objects.has(name) ? ({ body: objects.get(name)! } as never) : undefined) },
    childrenSchema.parse({
      quota: { entries: 100 },
      claims: { labels: { env: ['test'] } },
      named: { paris: { claims: { labels: { env: ['prod'] } }, quota: { bytes: 7 } } },
    }),
    'eu',
  );
  const body = (spec: object) =>
    canonicalBytes({ apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Node', metadata: { name: 'x' }, spec });

  it('is in the Node object, otherwise in the configuration of the child, otherwise in that of all children', () => {
    expect(written.claimsOf('rome')).toEqual({ labels: { env: ['test'] }, properties: {} });
    expect(written.claimsOf('paris')).toEqual({ labels: { env: ['prod'] }, properties: {} });
    expect(written.quotaOf('paris')).toEqual({ entries: 100, bytes: 7 });
    objects.set('eu.paris', body({ path: 'eu:paris', claims: { labels: { env: ['*'] } }, quota: { entries: 3 } }));
    expect(written.claimsOf('paris')).toEqual({ labels: { env: ['*'] }, properties: {} });
    written.changed('paris');
    expect(written.quotaOf('paris')).toEqual({ entries: 3, bytes: 7 });
  });

  it('may change with another configuration: for children that it names, or for all by its claims', () => {
    const storage = { get: () => undefined };
    const named = { paris: { claims: { labels: { env: ['prod'] } } }, rome: {} };
    const before = childrenSchema.parse({ claims: { labels: {} }, named });
    const configured = (after: object) =>
      new WrittenClaims(storage, before, 'eu').configure(childrenSchema.parse(after), ['rome', 'berlin', 'berlin']);
    expect(configured({ claims: { labels: {} }, named })).toEqual([]);
    expect(configured({ claims: { labels: {} }, named: { ...named, oslo: {}, paris: {} } })).toEqual(['paris', 'oslo']);
    expect(configured({ claims: { labels: { env: ['test'] } }, named })).toEqual(['rome', 'berlin']);
  });

  it('changes with the spec of the Node object of a direct child, and with nothing else', () => {
    const change = (before: object | undefined, after: object, type = 'MODIFIED'): StorageEvent =>
      ({
        type,
        object: {
          key: { group: 'mesh.banyan.io', resource: 'nodes', namespace: '', name: 'x' },
          body: body(after),
          revision: 1,
        },
        ...(before ? { before: { body: body(before) } } : {}),
      }) as unknown as StorageEvent;
    const node = { path: 'eu:paris' };
    expect(childOfChange(change(node, node), 'eu')).toBeUndefined();
    expect(childOfChange(change(node, { ...node, quota: { entries: 1 } }), 'eu')).toBe('paris');
    expect(childOfChange(change({ ...node, claims: {} }, { ...node, claims: {} }, 'DELETED'), 'eu')).toBe('paris');
    expect(
      childOfChange(change({ path: 'eu:paris:till' }, { path: 'eu:paris:till', claims: {} }), 'eu'),
    ).toBeUndefined();
  });
});
