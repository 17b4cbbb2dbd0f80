import { beforeEach, describe, expect, it } from 'vitest';
import { entryKey } from '../../../../../core/entries/entry-keys.ts';
import type { ChildRole } from '../../../../../core/entries/entry-kind.ts';
import { FeedProducer } from '../../../../../core/feed/producer.ts';
import { LocalTable } from '../../../../../core/feed/table.ts';
import { hash128 } from '../../../../../core/object/hash.ts';
import { formatKey, type ObjectKey, parseKey } from '../../../../../core/object/key.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { text } from '../../../../../core/store/bytes.ts';
import type { Child } from '../../../../../relay/children/children.ts';
import { ExactStatuses } from '../../../../../relay/gather/status/exact-statuses.ts';
import type { Placement } from '../../../../../relay/placements/placement.ts';
import { Placements, storeSelected } from '../../../../../relay/placements/placements.ts';
import { shownTopic } from '../../../../../relay/work/topics.ts';
import { SpaceBench, source } from '../../support/space-bench.ts';

const id = `${source}/p`;
const web = parseKey('apps/deployments/shop/web');
const namespace = parseKey('/namespaces//shop');
const spec = (replicas: number) => ({
  replicas,
  selector: { matchLabels: { a: 'b' } },
  template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
});

class Bench {
  readonly spaces = new SpaceBench();
  readonly store = this.spaces.store;
  readonly #table = this.store.write((t) => LocalTable.open(t, 'test'));
  readonly #children = new Map<string, Child>();
  readonly #reported = new Map<string, LocalTable>();
  readonly outbox = this.store.write((t) =>
    FeedProducer.open(t, { name: 'outbox', bootNonce: 'b', random: new SeededRandom(1) }),
  );
  readonly expected = new Map<string, number>();
  readonly placements = new Placements();
  readonly changed: string[] = [];
  isOwn = true;
  exact = this.#make();
  #revision = 0;

  constructor() {
    this.store.subscribe(shownTopic, (objects) => {
      for (const { key } of objects) this.changed.push(formatKey(key));
    });
    this.spaces.namespace('shop');
    this.space.apply(
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'shop' }, spec: spec(1) },
      { fieldManager: 'test' },
    );
    this.spaces.settle();
  }

  get space() {
    return this.spaces.space;
  }

  restart(): void {
    this.exact = this.#make();
  }

  child(name: string, role: ChildRole, expected: number): void {
    this.#children.set(name, { name, role, destinations: [] });
    this.expected.set(name, expected);
    this.#reported.set(
      name,
      this.store.write((t) => LocalTable.open(t, `reported/${name}`)),
    );
  }

  placement(singleton: boolean, ...objects: ObjectKey[]): Placement {
    const target = { generation: 1, target: 1, singleton, priority: 0, created: '', uid: '' };
    const children = new Set(this.#children.keys());
    const placement: Placement = { id, source, name: 'p', locationSelectors: [], target, children };
    this.placements.set(placement);
    this.store.write((t) => {
      for (const object of objects) {
        const key = entryKey.object(source, object);
        const attributes = text(JSON.stringify({ refs: ['p'] }));
        this.#table.put(t, { key, attributes, body: text('{}') }, ++this.#revision);
        storeSelected(t, id, hash128(key));
      }
    });
    return placement;
  }

  report(child: string, key: string, status: object | undefined, attributes: object = {}): void {
    const body = status ? text(JSON.stringify(status)) : new Uint8Array(0);
    const table = this.#reported.get(child)!;
    this.store.write((t) =>
      table.put(t, { key, attributes: text(JSON.stringify(attributes)), body }, ++this.#revision),
    );
  }

  status(key = web): unknown {
    return this.space.get(key)?.status;
  }

  handedOn(): Record<string, unknown> {
    return this.store.read((reader) =>
      Object.fromEntries(
        [...this.outbox.rows(reader)].map((row) => {
          const { key, body } = this.outbox.content(reader, row.content!);
          return [key, JSON.parse(Buffer.from(body).toString())];
        }),
      ),
    );
  }

  #make(): ExactStatuses {
    return new ExactStatuses({
      store: this.store,
      log: silentLogger,
      outbox: this.outbox,
      placements: this.placements,
      children: this.#children,
      ownSpace: () => (this.isOwn ? this.space : undefined),
      tableOf: () => this.#table,
      reportedOf: (child) => this.#reported.get(child),
      expected: (_id, child) => this.expected.get(child) ?? 0,
    });
  }
}

const state = `state/${source}/${formatKey(web)}`;

describe('the exact status of a placement with one destination', () => {
  let bench: Bench;

  beforeEach(() => {
    bench = new Bench();
    bench.child('shop', 'agent', 1);
  });

  it('is written into the objects of an own space, and withdrawn when a second destination appears', () => {
    bench.report('shop', state, { replicas: 2 });
    const placement = bench.placement(true, web);
    bench.exact.write(id, placement, 1);
    expect(bench.status()).toEqual({ replicas: 2 });
    bench.exact.write(id, placement, 2);
    expect(bench.status()).toBeUndefined();
    bench.exact.write(id, placement, 1);
    expect(bench.status()).toEqual({ replicas: 2 });
  });

  it.each([true, false])('is written, and withdrawn, when there is room for it; in an own space: %s', async (isOwn) => {
    bench.isOwn = isOwn;
    bench.report('shop', state, { replicas: 2 });
    const placement = bench.placement(true, web);
    const written = () => (isOwn ? bench.status() : bench.handedOn()[entryKey.status(id, web)]);
    for (const [expected, status] of [
      [1, { replicas: 2 }],
      [2, undefined],
    ] as const) {
      await bench.store.flushed();
      bench.store.failFlush(new BanyanError('StoreFull', 'no room'));
      expect(() => bench.exact.write(id, placement, expected)).toThrow('no room');
      bench.store.crash();
      bench.exact.write(id, placement, expected);
      expect(written()).toEqual(status);
    }
  });

  it('is not written if nobody asked for it', () => {
    bench.report('shop', state, { replicas: 2 });
    bench.exact.write(id, bench.placement(false, web), 1);
    expect(bench.status()).toBeUndefined();
  });

  it('is withdrawn after a restart too: from a deleted placement, one that no longer asks, or one that has lost the object', () => {
    bench.report('shop', state, { replicas: 2 });
    for (const end of ['gone', 'asks no more'] as const) {
      bench.exact.write(id, bench.placement(true, web), 1);
      expect(bench.status()).toEqual({ replicas: 2 });
      bench.restart();
      const placement = end === 'gone' ? undefined : bench.placement(false, web);
      if (end === 'gone') bench.placements.delete(id);
      bench.exact.write(id, placement, 1);
      expect(bench.status()).toBeUndefined();
    }
  });

  it('leaves alone the space’s own statuses of Namespaces, and statuses by others', () => {
    const phase = bench.status(namespace);
    bench.report('shop', `state/${source}/${formatKey(namespace)}`, { phase: 'Terminating' });
    const placement = bench.placement(true, web, namespace);
    bench.space.update({ ...bench.space.get(web)!, status: { replicas: 9 } }, { subresource: 'status' });
    bench.exact.write(id, placement, 1);
    bench.exact.write(id, placement, 2);
    expect(bench.status(namespace)).toEqual(phase);
    expect(bench.status()).toEqual({ replicas: 9 });
  });

  it('has the generation of the origin', () => {
    const observed = (observedGeneration: number) => ({
      observedGeneration,
      conditions: [{ type: 'Ready', observedGeneration }, { type: 'Other' }],
    });
    const placement = bench.placement(true, web);
    bench.report('shop', state, observed(2), { generation: 7, local: 2 });
    bench.exact.write(id, placement, 1);
    expect(bench.status()).toEqual(observed(7));
    bench.report('shop', state, observed(3), { generation: 9, local: 4 });
    bench.exact.objectsChanged(id, [web]);
    expect(bench.status()).toEqual(observed(8));
  });

  it('follows one object without a look at the others', () => {
    const till = { ...web, name: 'till' };
    bench.space.apply(
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'till', namespace: 'shop' }, spec: spec(1) },
      { fieldManager: 'test' },
    );
    const stateOfTill = `state/${source}/${formatKey(till)}`;
    bench.report('shop', state, { replicas: 2 });
    const placement = bench.placement(true, web, till);
    bench.exact.write(id, placement, 1);
    bench.report('shop', state, { replicas: 3 });
    bench.report('shop', stateOfTill, { replicas: 4 });
    bench.exact.write(id, placement, 1);
    bench.exact.objectsChanged(id, [till, namespace]);
    expect([bench.status(), bench.status(till)]).toEqual([{ replicas: 2 }, { replicas: 4 }]);
    bench.exact.objectsChanged(id, [web]);
    expect(bench.status()).toEqual({ replicas: 3 });
    bench.restart();
    bench.exact.write(id, placement, 2);
    expect([bench.status(), bench.status(till)]).toEqual([undefined, undefined]);
  });

  it('follows no object while it is not exact, nor of a placement that no longer has the object', () => {
    bench.report('shop', state, { replicas: 2 });
    const placement = bench.placement(true, web);
    bench.exact.objectsChanged(id, [web]);
    bench.exact.write(id, placement, 2);
    bench.exact.objectsChanged(id, [web]);
    expect(bench.status()).toBeUndefined();
    bench.exact.write(id, placement, 1);
    bench.exact.objectsChanged(id, [{ ...web, name: 'other' }]);
    expect(bench.status()).toEqual({ replicas: 2 });
  });

  it('comes from the child with the destination, whichever others may have one', () => {
    bench.child('a relay', 'relay', 0);
    bench.child('shop', 'agent', 1);
    bench.report('shop', state, { replicas: 2 });
    bench.exact.write(id, bench.placement(true, web), 1);
    expect(bench.status()).toEqual({ replicas: 2 });
  });

  it('is passed on by a relay, shown in its view, and removed from both', () => {
    bench.isOwn = false;
    bench.report('shop', state, { replicas: 2 });
    const placement = bench.placement(true, web);
    const shown = () => bench.store.read((reader) => bench.exact.statusOf(reader, source, web));
    bench.exact.write(id, placement, 1);
    expect(bench.handedOn()).toEqual({ [entryKey.status(id, web)]: { replicas: 2 } });
    expect(JSON.parse(Buffer.from(shown()!).toString())).toEqual({ replicas: 2 });
    expect(bench.changed).toEqual([formatKey(web)]);
    bench.report('shop', state, { replicas: 3 });
    bench.exact.objectsChanged(id, [web]);
    expect(bench.handedOn()).toEqual({ [entryKey.status(id, web)]: { replicas: 3 } });
    bench.exact.write(id, placement, 2);
    expect(bench.handedOn()).toEqual({});
    expect(shown()).toBeUndefined();
  });

  it('is passed on unchanged from a relay below', () => {
    bench = new Bench();
    bench.child('paris', 'relay', 1);
    bench.report('paris', entryKey.status(id, web), { observedGeneration: 7 }, { target: 1 });
    bench.exact.write(id, bench.placement(true, web), 1);
    expect(bench.status()).toEqual({ observedGeneration: 7 });
  });

  it('names the placements whose status depends on an object', () => {
    bench.placement(true, web);
    expect(bench.store.read((reader) => bench.exact.askingFor(reader, source, web))).toEqual([id]);
    bench.placement(false, web);
    expect(bench.store.read((reader) => bench.exact.askingFor(reader, source, web))).toEqual([]);
  });
});
