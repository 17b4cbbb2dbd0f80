import { describe, expect, it } from 'vitest';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../core/apiserver/verbs/embedded-space.ts';
import type { AppliedChange } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { nodeKey } from '../../../../core/wire/entries.ts';
import type { NodeAttributes } from '../../../../core/wire/entry-attributes.ts';
import { withoutSiblings } from '../../../../relay/tree/counting.ts';
import { Descendants } from '../../../../relay/tree/descendants.ts';

function node(path: string) {
  const store = new MemoryStore();
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const storage = new EmbeddedStorage({ store, name: 'system', logger: silentLogger, hook: () => {} });
  const space = new EmbeddedSpace({
    name: 'system',
    storage,
    kinds: new SpaceKinds(storage, ownKinds('System')),
    clock,
    random,
    fields: fieldManager,
    admissions: [],
  });
  const outbox = store.write((t) => FeedProducer.open(t, { name: 'outbox', bootNonce: 'aa', random }));
  const reported = store.write((t) => LocalTable.open(t, 'reported/eu'));
  const connected = new Set(['eu']);
  const open = () =>
    new Descendants({
      space,
      path,
      outbox,
      reportedOf: (child) => (child === 'eu' ? reported : undefined),
      isConnected: (child) => connected.has(child),
      counting: withoutSiblings,
    });
  const descendants = open();
  let revision = 0;
  /** What the child `eu` says, as a session applies it. */
  const say = (at: string, attributes: NodeAttributes | undefined) => {
    const key = nodeKey(at);
    const keyHash = hash128(key);
    const after = attributes && {
      key,
      attributes: Buffer.from(JSON.stringify(attributes)),
      body: new Uint8Array(0),
    };
    // An agent's rows have revisions of their own.
    const change: AppliedChange = { keyHash, key, originRevision: ++revision, ...(after ? { after } : {}) };
    store.write((t) => {
      if (after) reported.put(t, after, 0);
      else reported.remove(t, keyHash);
      descendants.pass(t, 'eu', [change]);
    });
    descendants.note('eu', [change]);
    descendants.show(0);
  };
  const shown = () =>
    Object.fromEntries(
      storage.scan({ group: 'mesh.banyan.io', resource: 'nodes' }).map((stored) => {
        const { spec, status } = space.parse(stored);
        return [(spec as { path: string }).path, (status as { session: { state: string } }).session.state];
      }),
    );
  const handedOn = () =>
    store.read((reader) => [...outbox.rows(reader)].map((row) => outbox.content(reader, row.content!).key).sort());
  return { store, descendants, open, say, shown, handedOn, connected };
}

const relay = (state: 'Connected' | 'Disconnected'): NodeAttributes => ({
  role: 'relay',
  version: '1',
  session: { state },
});

describe('relays deeper than the children', () => {
  it('are shown and handed on to the parent', () => {
    const { say, shown, handedOn } = node('top');
    say('top:eu:paris', relay('Connected'));
    expect(shown()).toEqual({ 'top:eu:paris': 'Connected' });
    expect(handedOn()).toEqual(['node/top:eu:paris']);
    say('top:eu:paris', undefined);
    expect([shown(), handedOn()]).toEqual([{}, []]);
  });

  it('are handed on again when they come back before the parent has heard that they went', () => {
    const { say, handedOn } = node('top');
    say('top:eu:paris', relay('Connected'));
    say('top:eu:paris', undefined);
    say('top:eu:paris', relay('Connected'));
    expect(handedOn()).toEqual(['node/top:eu:paris']);
  });

  it('are handed on by nobody at the root', () => {
    const { say, shown, handedOn } = node('');
    say('eu:paris', relay('Connected'));
    expect([shown(), handedOn()]).toEqual([{ 'eu:paris': 'Connected' }, []]);
  });

  it('are told of by their own ancestor only', () => {
    const { say, shown, handedOn } = node('top');
    say('top:us:dallas', relay('Connected'));
    say('top:europe:rome', relay('Connected'));
    say('top', relay('Connected'));
    expect([shown(), handedOn()]).toEqual([{}, []]);
  });

  it('are unknown while a node between is away, and known again without being told of anew', () => {
    const { say, shown, descendants, connected } = node('');
    say('eu:paris', relay('Connected'));
    say('eu:paris:left', relay('Connected'));
    say('eu:paris', relay('Disconnected'));
    expect(shown()).toEqual({ 'eu:paris': 'Disconnected', 'eu:paris:left': 'Unknown' });
    say('eu:paris', relay('Connected'));
    expect(shown()['eu:paris:left']).toBe('Connected');
    connected.delete('eu');
    descendants.connectionChanged('eu');
    descendants.show(0);
    expect(shown()).toEqual({ 'eu:paris': 'Unknown', 'eu:paris:left': 'Unknown' });
  });

  it('are read from what the children said when the node starts again', () => {
    const { say, shown, store, open, connected } = node('');
    say('eu:paris', relay('Disconnected'));
    connected.delete('eu');
    const again = open();
    store.read((reader) => again.load(reader));
    again.show(0);
    expect(shown()).toEqual({ 'eu:paris': 'Unknown' });
    connected.add('eu');
    again.connectionChanged('eu');
    again.show(0);
    expect(shown()).toEqual({ 'eu:paris': 'Disconnected' });
  });
});
