import { describe, expect, it } from 'vitest';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { tokenKeysIn } from '../../../../core/authentication/token-key.ts';
import { SealedStore } from '../../../../core/encryption/sealed-store.ts';
import { sealableKeyspaces, sealedValues } from '../../../../core/encryption/sealed-values.ts';
import { Sealer } from '../../../../core/encryption/sealer.ts';
import { sealingKey } from '../../../../core/encryption/sealing-keys.ts';
import { contentRecordOf, readContent, storeContent } from '../../../../core/feed/content.ts';
import { storePiece } from '../../../../core/feed/pieces.ts';
import { listQuarantined, putQuarantined } from '../../../../core/feed/quarantine.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { asBuffer, concat, prefixRange, text } from '../../../../core/store/bytes.ts';
import { type Keyspace, keyspace, prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { OwnerRecords } from '../../../../edge-agent/apply/owner-records.ts';
import { Renderings } from '../../../../relay/customize/renderings.ts';

const marker = 'four-seven-one-one';
const everything = { from: Buffer.alloc(0), to: Buffer.alloc(8, 0xff) };

function opened(resources: readonly string[] = ['secrets']) {
  const inner = new MemoryStore();
  const sealer = new Sealer(Buffer.alloc(16), [sealingKey(Buffer.alloc(32, 1))], systemRandom);
  const store = new SealedStore(inner, sealer, sealedValues(resources));
  /** The keyspaces whose values have a text. */
  const with_ = (wanted: string) =>
    inner.read((reader) => [
      ...new Set(
        [...reader.scan(everything)]
          .filter(([, value]) => asBuffer(value).includes(wanted))
          .map(([key]) => Object.entries(keyspace).find(([, number]) => number === asBuffer(key).readUInt16BE(0))![0]),
      ),
    ]);
  return { inner, store, with: with_ };
}

const content = (key: string) => ({ key, attributes: text('{}'), body: text(marker) });
const keyOf = (resource: string, group = '') => ({ group, resource, namespace: 'shop', name: 'pin' });

/** Writes the marker as an object of the resource to each place where the product keeps contents of objects. */
function writeEverywhere(store: SealedStore, group: string, resource: string) {
  const objectKey = `${group}/${resource}/shop/pin`;
  const hashes = store.write((t) =>
    [`o/center.retail/${objectKey}`, `q/center.retail/web/${objectKey}`, `up/center.retail/eu:one/${objectKey}`].map(
      (key) => storeContent(t, contentRecordOf(content(key))).hash,
    ),
  );
  const space = new EmbeddedStorage({ store, name: 'retail', logger: silentLogger });
  space.write((writer) => writer.put(keyOf(resource, group), text(marker)));
  const records = new OwnerRecords(store);
  const record = { source: 's', bodyHash: marker, uid: '', fingerprint: '', created: false };
  records.setFormerForm(objectKey, record, text(JSON.stringify({ data: marker })));
  store.write((t) =>
    t.put(concat(prefixOf('formerObject'), text('center.retail'), Buffer.of(0), text(objectKey)), text(marker)),
  );
  const renderings = new Renderings();
  const failure = { reason: 'CustomizationFailed' as const, message: `no number: ${marker}`, refs: ['web'] };
  const row = { key: `o/center.retail/${objectKey}`, customizers: [], failure };
  store.write((t) => renderings.set(t, 'one', Buffer.alloc(16), row, []));
  return { hashes, space, records };
}

describe('the contents of Secrets', () => {
  it('are in no value of the store below, and are read as they were written', () => {
    const { store, with: having } = opened();
    const { hashes, space, records } = writeEverywhere(store, '', 'secrets');
    expect(having(marker)).toEqual([]);
    for (const hash of hashes)
      expect(asBuffer(store.read((r) => readContent(r, { hash })).body).toString()).toBe(marker);
    expect(asBuffer(space.get(keyOf('secrets'))!.body).toString()).toBe(marker);
    expect(space.scan({ group: '', resource: 'secrets' }).map(({ body }) => asBuffer(body).toString())).toEqual([
      marker,
    ]);
    expect(records.formerFormOf('/secrets/shop/pin')).toEqual({ data: marker });
    const renderings = new Renderings();
    store.read((reader) => renderings.load(reader));
    expect(renderings.failures('center.retail/web' as never, 'one', 'eu:one')[0]?.message).toContain(marker);
  });

  it.each([
    ['', 'configmaps'],
    ['secrets', 'widgets'],
    ['example.com', 'secrets'],
    ['', 'secretstores'],
  ])('are told from those of %s/%s, which stay clear', (group, resource) => {
    const { store, with: having } = opened();
    writeEverywhere(store, group, resource);
    expect(having(marker).sort()).toEqual([
      'content',
      'customized',
      'formerForm',
      'formerObject',
      'ownerRecord',
      'spaceObject',
    ]);
  });
});

it('other resources are sealed when they are named, with their group', () => {
  const { store, with: having } = opened(['widgets.example.com']);
  writeEverywhere(store, 'example.com', 'widgets');
  expect(having(marker)).toEqual([]);
  writeEverywhere(store, '', 'secrets');
  expect(having(marker)).toContain('content');
});

it('what does not say which object it is about is sealed always', () => {
  const { store, with: having } = opened();
  store.write((t) => {
    storePiece(t, 1, { contentHash: Buffer.alloc(16), offset: 0, total: 5_000, data: Buffer.alloc(4_096, marker) });
    putQuarantined(t, 1, Buffer.alloc(16), { key: 'o/x', originRevision: 1, reason: marker }, undefined);
  });
  tokenKeysIn(store);
  expect(having(marker)).toEqual([]);
  expect(having('PRIVATE KEY')).toEqual([]);
  expect(store.read((reader) => listQuarantined(reader, 1))[0]?.reason).toBe(marker);
});

it('nothing is sealed with an empty list', () => {
  const { store, with: having } = opened([]);
  writeEverywhere(store, '', 'secrets');
  expect(having(marker)).not.toEqual([]);
});

it('a range is known to have no sealed values only if it is within a keyspace without them', () => {
  const { mayBeIn } = sealedValues(['secrets']);
  const whole = (space: Keyspace) => prefixRange(prefixOf(space));
  expect(mayBeIn(whole('tableRow'))).toBe(false);
  expect(mayBeIn(prefixRange(concat(prefixOf('tableRow'), Buffer.alloc(4))))).toBe(false);
  expect(mayBeIn(whole('content'))).toBe(true);
  expect(mayBeIn(prefixRange(concat(prefixOf('spaceObject'), Buffer.alloc(4))))).toBe(true);
  expect(mayBeIn({ from: prefixOf('format'), to: Buffer.of(0xff) })).toBe(true);
  expect(mayBeIn({ from: prefixOf('tableRow'), to: concat(prefixOf('spaceObject'), Buffer.of(1)) })).toBe(true);
});

describe('a new keyspace', () => {
  /** Values without the content of an object: numbers, hashes, names, revisions, states, public keys. */
  const withoutContents: readonly Keyspace[] = [
    'format',
    'contentReferences',
    'tableName',
    'tableRow',
    'tableRevision',
    'producerState',
    'consumerState',
    'session',
    'node',
    'ownPath',
    'spaceState',
    'selection',
    'implied',
    'dirty',
    'matched',
    'placement',
    'child',
    'upsynced',
    'reportedStatus',
    'heldBack',
    'withheld',
    'exposure',
    'rollout',
    'heldBy',
    'releaseDigest',
    'move',
    'moveCounter',
    'carriesOnce',
    'inventoryAt',
    'attachment',
    'replicaGroup',
    'replicaChild',
    'watermarks',
    'heldCustomizer',
    'keepEntry',
    'transport',
    'heldRow',
    'spaceHistory',
    'rolledBack',
    'seenRevision',
    'crashMark',
    'clusterIdentity',
    'heldLabelSummary',
    'leaseMemory',
    'acknowledgedLabelSummary',
    'lastRelease',
    'otherHistory',
    'restoreBarrier',
    'descendant',
    'formerGone',
    'formerCount',
    'revision',
    'revisionChange',
    'heard',
    'admittedKey',
    'issuerKeys',
    'sealing',
    'rowUsage',
  ];

  it('is in one of the two lists: with contents that are sealed, or without contents', () => {
    expect([...sealableKeyspaces, ...withoutContents].sort()).toEqual(Object.keys(keyspace).sort());
  });
});
