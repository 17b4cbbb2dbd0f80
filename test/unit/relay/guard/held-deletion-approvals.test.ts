import { beforeEach, describe, expect, it } from 'vitest';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../core/apiserver/managed-fields/field-manager.ts';
import type { Space } from '../../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../core/apiserver/verbs/embedded-space.ts';
import { attributesOf, entryKey } from '../../../../core/entries/entry-keys.ts';
import type { NodeAttributes } from '../../../../core/entries/up-attributes.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { objectName } from '../../../../core/identity/node-path.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { HeldDeletionApprovals } from '../../../../relay/guard/held-deletion-approvals.ts';

describe('the approval of held deletions', () => {
  let store: MemoryStore;
  let space: Space;
  let upstream: LocalTable;
  let mailbox: FeedProducer;
  let nodeReports: Map<string, NodeAttributes>;
  let released: string[];
  let releases: HeldDeletionApprovals;

  beforeEach(() => {
    store = new MemoryStore();
    const random = new SeededRandom(1);
    const storage = new EmbeddedStorage({ store, name: 'system', logger: silentLogger });
    space = new EmbeddedSpace({
      name: 'system',
      storage,
      kinds: new SpaceKinds(storage, ownKinds('System')),
      clock: new VirtualClock(),
      random,
      fields: fieldManager,
      admissions: [],
    });
    upstream = store.write((t) => LocalTable.open(t, 'upstream'));
    mailbox = store.write((t) => FeedProducer.open(t, { name: 'mailbox/paris', bootNonce: 'aa', random }));
    nodeReports = new Map();
    released = [];
    releases = new HeldDeletionApprovals({
      path: 'eu',
      system: space,
      upstream,
      mailboxOf: (child) => (child === 'paris' ? mailbox : undefined),
      replicasOf: (child) => [child],
      reportOf: (_reader, _child, path) => nodeReports.get(path),
      approve: (_t, token) => released.push(token),
      approveFor: () => {},
    });
  });

  const holds = (path: string, token: string) =>
    nodeReports.set(path, { role: 'agent', version: '1', held: { entries: 60, since: '', token, sample: [] } });
  const createNode = (path: string, approveHeldDeletions: string) =>
    space.create({
      apiVersion: 'mesh.banyan.io/v1alpha1',
      kind: 'Node',
      metadata: { name: objectName(path) },
      spec: { path, role: 'Agent', approveHeldDeletions },
    });
  const consider = (path: string) => store.write((t) => releases.consider(t, path));
  const handedOn = (path: string) =>
    store.read((reader) => {
      const row = mailbox.get(reader, hash128(entryKey.approval(path)));
      return row?.content && attributesOf<{ token: string }>(mailbox.content(reader, row.content)).token;
    });

  it('is written into the Node object, and is sent to the next child on the path', () => {
    holds('eu:paris:shop', 'seen');
    createNode('eu:paris:shop', 'seen');
    consider('eu:paris:shop');
    expect(handedOn('eu:paris:shop')).toBe('seen');
  });

  it('comes from above as well', () => {
    holds('eu:paris', 'seen');
    const key = entryKey.approval('eu:paris');
    const content = { key, attributes: text('{"token":"seen"}'), body: new Uint8Array(0) };
    store.write((t) => upstream.put(t, content, 0));
    consider('eu:paris');
    expect(handedOn('eu:paris')).toBe('seen');
  });

  it('is sent nowhere while the node holds other rows than the person saw', () => {
    holds('eu:paris', 'more than was seen');
    createNode('eu:paris', 'seen');
    consider('eu:paris');
    expect(handedOn('eu:paris')).toBeUndefined();
  });

  it('ends when the node reports that it is done', () => {
    holds('eu:paris', 'seen');
    createNode('eu:paris', 'seen');
    consider('eu:paris');
    nodeReports.set('eu:paris', { role: 'relay', version: '1' });
    consider('eu:paris');
    expect(handedOn('eu:paris')).toBeUndefined();
  });

  it('is carried out here if it is about this node', () => {
    createNode('eu', 'seen');
    consider('eu');
    expect(released).toEqual(['seen']);
  });

  it('is ignored if it is about a node elsewhere', () => {
    createNode('us', 'seen');
    consider('us');
    expect(released).toEqual([]);
    expect(handedOn('us')).toBeUndefined();
  });

  describe('below one of several replicas', () => {
    const replicas = ['paris', 'paris~1'];
    let mailboxes: Map<string, FeedProducer>;
    let reportBy: Map<string, NodeAttributes>;
    let forChild: string[];

    beforeEach(() => {
      const random = new SeededRandom(2);
      const open = (child: string) =>
        store.write((t) => FeedProducer.open(t, { name: `box/${child}`, bootNonce: 'aa', random }));
      mailboxes = new Map(replicas.map((child) => [child, open(child)]));
      reportBy = new Map();
      forChild = [];
      releases = new HeldDeletionApprovals({
        path: 'eu',
        system: space,
        upstream,
        mailboxOf: (child) => mailboxes.get(child),
        replicasOf: () => replicas,
        reportOf: (_reader, child, path) => reportBy.get(`${child} ${path}`),
        approve: () => {},
        approveFor: (_t, child, token) => forChild.push(`${child} ${token}`),
      });
    });

    const reportsHeld = (child: string, path: string, token: string) =>
      reportBy.set(`${child} ${path}`, {
        role: 'relay',
        version: '1',
        held: { entries: 60, since: '', token, sample: [] },
      });
    const handed = (path: string) =>
      replicas.filter((child) =>
        store.read(
          (reader) => mailboxes.get(child)!.get(reader, hash128(entryKey.approval(path)))?.content !== undefined,
        ),
      );

    it('is sent to the replica that reports the node, and follows the node to the other replica', () => {
      reportsHeld('paris~1', 'eu:paris:shop', 'seen');
      createNode('eu:paris:shop', 'seen');
      consider('eu:paris:shop');
      expect(handed('eu:paris:shop')).toEqual(['paris~1']);
      reportBy.clear();
      reportsHeld('paris', 'eu:paris:shop', 'seen');
      consider('eu:paris:shop');
      expect(handed('eu:paris:shop')).toEqual(['paris']);
    });

    it('is sent to the replica whose Node object has it, although all replicas share that path', () => {
      for (const child of replicas) reportsHeld(child, 'eu:paris', 'seen');
      createNode('eu:paris~1', 'seen');
      const nodeChange = {
        key: entryKey.node('eu:paris'),
        keyHash: hash128(entryKey.node('eu:paris')),
        originRevision: 0,
      };
      store.write((t) => releases.fromBelow(t, 'paris', [nodeChange]));
      expect([handed('eu:paris'), forChild]).toEqual([[], []]);
      store.write((t) => releases.fromBelow(t, 'paris~1', [nodeChange]));
      expect([handed('eu:paris'), forChild]).toEqual([['paris~1'], ['paris~1 seen']]);
    });
  });
});
