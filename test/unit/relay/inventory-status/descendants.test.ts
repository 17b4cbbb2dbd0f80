import { describe, expect, it, vi } from 'vitest';
import { ownKinds } from '../../../../core/apiserver/kinds/kinds-of-space.ts';
import { SpaceKinds } from '../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../core/apiserver/managed-fields/field-manager.ts';
import { EmbeddedStorage } from '../../../../core/apiserver/storage/embedded.ts';
import { EmbeddedSpace } from '../../../../core/apiserver/verbs/embedded-space.ts';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import type { NodeAttributes } from '../../../../core/entries/up-attributes.ts';
import type { AppliedChange } from '../../../../core/feed/feed.ts';
import { FeedProducer } from '../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Descendants } from '../../../../relay/inventory-status/descendants.ts';
import { showNode } from '../../../../relay/inventory-status/node-objects.ts';
import { ordinaryStanding, type Replicas, withoutReplicas } from '../../../../relay/replicas/replicas.ts';

function node(path: string, replicas: Replicas = withoutReplicas) {
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
  const [eu, eu1] = store.write((t) => [LocalTable.open(t, 'reported/eu'), LocalTable.open(t, 'reported/eu~1')]);
  const reported = new Map([
    ['eu', eu],
    ['eu~1', eu1],
  ]);
  const connected = new Set(['eu']);
  const open = () =>
    new Descendants({
      store,
      space,
      path,
      outbox,
      reportedOf: (child) => reported.get(child),
      isConnected: (child) => connected.has(child),
      replicas,
    });
  const descendants = open();
  let revision = 0;
  /** The reports of a child, as a session applies them. */
  const receive = (paths: readonly string[], attributes: NodeAttributes | undefined, child = 'eu') => {
    const changes = paths.map((at): AppliedChange => {
      const key = entryKey.node(at);
      const after = attributes && { key, attributes: Buffer.from(JSON.stringify(attributes)), body: new Uint8Array(0) };
      // The rows of an agent have revisions of their own.
      return { keyHash: hash128(key), key, originRevision: ++revision, ...(after ? { after } : {}) };
    });
    store.write((t) => {
      for (const { keyHash, after } of changes) {
        if (after) reported.get(child)!.put(t, after, 0);
        else reported.get(child)!.remove(t, keyHash);
      }
      descendants.pass(t, child, changes);
    });
  };
  const receiveAndShow = (at: string, attributes: NodeAttributes | undefined, child = 'eu') => {
    receive([at], attributes, child);
    descendants.show(0);
  };
  const restart = () => {
    const again = open();
    store.write((t) => again.load(t));
    again.show(0);
    return again;
  };
  const uidOf = (name: string) =>
    space.get({ group: 'mesh.banyan.io', resource: 'nodes', namespace: '', name })?.metadata.uid;
  const shown = () =>
    Object.fromEntries(
      storage.scan({ group: 'mesh.banyan.io', resource: 'nodes' }).map((stored) => {
        const { spec, status } = space.parse(stored);
        return [(spec as { path: string }).path, (status as { session: { state: string } }).session.state];
      }),
    );
  const handedOn = () =>
    store.read((reader) => [...outbox.rows(reader)].map((row) => outbox.content(reader, row.content!).key).sort());
  return { store, space, descendants, restart, receive, receiveAndShow, shown, uidOf, handedOn, connected };
}

const relay = (state: 'Connected' | 'Disconnected'): NodeAttributes => ({
  role: 'relay',
  version: '1',
  session: { state },
});

describe('relays below the children', () => {
  it('are shown and reported to the parent', () => {
    const { receiveAndShow, shown, handedOn } = node('top');
    receiveAndShow('top:eu:paris', relay('Connected'));
    expect(shown()).toEqual({ 'top:eu:paris': 'Connected' });
    expect(handedOn()).toEqual(['node/top:eu:paris']);
    receiveAndShow('top:eu:paris', undefined);
    expect([shown(), handedOn()]).toEqual([{}, []]);
  });

  it('are shown when there is room for that', async () => {
    const { store, descendants, receive, shown } = node('top');
    receive(['top:eu:paris'], relay('Connected'));
    await store.flushed();
    store.failFlush(new BanyanError('StoreFull', 'no room'));
    expect(() => descendants.show(0)).toThrow('no room');
    store.crash();
    descendants.show(0);
    expect(shown()).toEqual({ 'top:eu:paris': 'Connected' });
  });

  it('are reported again when they return before the parent has received their removal', () => {
    const { receiveAndShow, handedOn } = node('top');
    receiveAndShow('top:eu:paris', relay('Connected'));
    receiveAndShow('top:eu:paris', undefined);
    receiveAndShow('top:eu:paris', relay('Connected'));
    expect(handedOn()).toEqual(['node/top:eu:paris']);
  });

  it('are reported by nobody at the root', () => {
    const { receiveAndShow, shown, handedOn } = node('');
    receiveAndShow('eu:paris', relay('Connected'));
    expect([shown(), handedOn()]).toEqual([{ 'eu:paris': 'Connected' }, []]);
  });

  it('are accepted from their own ancestor only', () => {
    const { receiveAndShow, shown, handedOn } = node('top');
    receiveAndShow('top:us:dallas', relay('Connected'));
    receiveAndShow('top:europe:rome', relay('Connected'));
    receiveAndShow('top', relay('Connected'));
    expect([shown(), handedOn()]).toEqual([{}, []]);
  });

  it('are unknown while a node in between is away, and known again without a new report', () => {
    const { receiveAndShow, shown, descendants, connected } = node('');
    receiveAndShow('eu:paris', relay('Connected'));
    receiveAndShow('eu:paris:left', relay('Connected'));
    receiveAndShow('eu:paris', relay('Disconnected'));
    expect(shown()).toEqual({ 'eu:paris': 'Disconnected', 'eu:paris:left': 'Unknown' });
    receiveAndShow('eu:paris', relay('Connected'));
    expect(shown()['eu:paris:left']).toBe('Connected');
    connected.delete('eu');
    descendants.connectionChanged('eu');
    descendants.show(0);
    expect(shown()).toEqual({ 'eu:paris': 'Unknown', 'eu:paris:left': 'Unknown' });
  });

  it('are read from the children’s reports when the node starts again', () => {
    const { receiveAndShow, shown, restart, connected } = node('');
    receiveAndShow('eu:paris', relay('Disconnected'));
    connected.delete('eu');
    const again = restart();
    expect(shown()).toEqual({ 'eu:paris': 'Unknown' });
    connected.add('eu');
    again.connectionChanged('eu');
    again.show(0);
    expect(shown()).toEqual({ 'eu:paris': 'Disconnected' });
  });
});

describe('many relays below the children', () => {
  const paths = (count: number, child = 'eu') => Array.from({ length: count }, (_, i) => `${child}:r${i}`);
  const statesIn = (shown: Record<string, string>) => {
    const states = Object.values(shown);
    return { connected: states.filter((one) => one === 'Connected').length, all: states.length };
  };

  it('are shown some in each run, and the run reports that more remain', () => {
    const { receive, shown, descendants, connected } = node('');
    receive(paths(120), relay('Connected'));
    const runs = () => {
      const more = descendants.show(0);
      return { more, ...statesIn(shown()) };
    };
    expect(runs()).toEqual({ more: true, connected: 50, all: 50 });
    expect(runs()).toEqual({ more: true, connected: 100, all: 100 });
    expect(runs()).toEqual({ more: false, connected: 120, all: 120 });
    connected.delete('eu');
    descendants.connectionChanged('eu');
    expect(runs()).toEqual({ more: true, connected: 70, all: 120 });
    expect(runs()).toEqual({ more: true, connected: 20, all: 120 });
    expect(runs()).toEqual({ more: false, connected: 0, all: 120 });
    receive(paths(120), undefined);
    expect(runs()).toEqual({ more: true, connected: 0, all: 70 });
  });

  it('are all shown even if the node has started again in between', () => {
    const { receive, shown, restart } = node('');
    receive(paths(120), relay('Connected'));
    const again = restart();
    while (again.show(0));
    expect(statesIn(shown())).toEqual({ connected: 120, all: 120 });
  });

  it('cost nothing if other relays change', () => {
    const { store, receive, descendants } = node('');
    receive(paths(1_000), relay('Connected'));
    receive(['eu:few', ...paths(3, 'eu:few')], relay('Connected'));
    // Each checked path is compared or read.
    let looks = 0;
    const compare = vi.spyOn(String.prototype, 'startsWith');
    const read = store.read.bind(store);
    vi.spyOn(store, 'read').mockImplementation((act) =>
      read((reader) =>
        act({
          get: (key) => reader.get(key),
          countKeys: (range) => reader.countKeys(range),
          *scan(range) {
            for (const row of reader.scan(range)) {
              looks++;
              yield row;
            }
          },
        }),
      ),
    );
    descendants.connectionChanged('us');
    receive(['eu:few'], relay('Disconnected'));
    looks += compare.mock.calls.length;
    vi.restoreAllMocks();
    expect(looks).toBeLessThan(50);
  });
});

/** Names those of `eu` and `eu~1` that do not count. */
function replicasAt(path: string, ...uncounted: string[]) {
  const left = new Set(uncounted);
  const replicas: Replicas = {
    ...withoutReplicas,
    standing: (child) => ({ ...ordinaryStanding, counts: !left.has(child) }),
    members: () => ['eu', 'eu~1'],
  };
  return { ...node(path, replicas), left };
}

describe('relays below replicas', () => {
  it('do not include the replicas themselves, whose Node objects are unchanged after a start of the node', () => {
    const { space, restart, shown, uidOf } = replicasAt('');
    for (const path of ['eu', 'eu~1']) {
      showNode(space, path, 'Relay', { version: '1', session: { state: 'Connected' } }, 0);
    }
    const uid = uidOf('eu--1');
    restart();
    expect(shown()).toEqual({ eu: 'Connected', 'eu~1': 'Connected' });
    expect(uidOf('eu--1')).toBe(uid);
  });

  it('are read from the reports of any replica when the node starts again', () => {
    const { receiveAndShow, restart, shown, uidOf } = replicasAt('');
    receiveAndShow('eu:paris', relay('Connected'), 'eu~1');
    const uid = uidOf('eu.paris');
    restart();
    expect(shown()).toEqual({ 'eu:paris': 'Connected' });
    expect(uidOf('eu.paris')).toBe(uid);
  });

  it.each(['', 'top'])('stay if one replica no longer reports them and another does: below "%s"', (path) => {
    const { receiveAndShow, shown, handedOn, uidOf, left } = replicasAt(path);
    const lyon = path === '' ? 'eu:lyon' : 'top:eu:lyon';
    receiveAndShow(lyon, relay('Connected'));
    const uid = uidOf(lyon.replaceAll(':', '.'));
    left.add('eu');
    receiveAndShow(lyon, relay('Connected'), 'eu~1');
    // When the replica is back, it reports everything again before it counts, and counts before all of its reports have arrived.
    receiveAndShow(lyon, undefined);
    left.delete('eu');
    receiveAndShow(lyon, relay('Connected'));
    receiveAndShow(lyon, undefined);
    expect(shown()).toEqual({ [lyon]: 'Connected' });
    expect(uidOf(lyon.replaceAll(':', '.'))).toBe(uid);
    expect(handedOn()).toEqual(path === '' ? [] : [`node/${lyon}`]);
  });

  it('are shown as a counting replica reports them, whichever reports last', () => {
    const { receiveAndShow, shown, restart } = replicasAt('', 'eu');
    receiveAndShow('eu:lyon', relay('Connected'), 'eu~1');
    receiveAndShow('eu:lyon', relay('Disconnected'));
    expect(shown()).toEqual({ 'eu:lyon': 'Connected' });
    restart();
    expect(shown()).toEqual({ 'eu:lyon': 'Connected' });
  });

  it.each(['', 'top'])('exist, and are unknown, while no counting replica reports them: below "%s"', (path) => {
    const { receiveAndShow, shown, handedOn, store, descendants, left } = replicasAt(path, 'eu');
    const lyon = path === '' ? 'eu:lyon' : 'top:eu:lyon';
    receiveAndShow(lyon, relay('Connected'));
    expect([shown(), handedOn()]).toEqual([{ [lyon]: 'Unknown' }, []]);
    left.delete('eu');
    store.write((t) => descendants.recount(t, 'eu'));
    descendants.show(0);
    expect(shown()).toEqual({ [lyon]: 'Connected' });
    expect(handedOn()).toEqual(path === '' ? [] : [`node/${lyon}`]);
    left.add('eu');
    store.write((t) => descendants.recount(t, 'eu'));
    descendants.show(0);
    expect([shown(), handedOn()]).toEqual([{ [lyon]: 'Unknown' }, []]);
  });

  it('are unknown while none of several replicas in between is connected', () => {
    const { receiveAndShow, shown } = node('');
    receiveAndShow('eu:paris', relay('Disconnected'));
    receiveAndShow('eu:paris~1', relay('Connected'));
    receiveAndShow('eu:paris:left', relay('Connected'));
    expect(shown()['eu:paris:left']).toBe('Connected');
    receiveAndShow('eu:paris~1', relay('Disconnected'));
    expect(shown()['eu:paris:left']).toBe('Unknown');
    receiveAndShow('eu:paris~1', relay('Connected'));
    expect(shown()['eu:paris:left']).toBe('Connected');
  });
});
