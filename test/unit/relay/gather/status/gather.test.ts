import { beforeEach, describe, expect, it } from 'vitest';
import { entryKey } from '../../../../../core/entries/entry-keys.ts';
import { LocalTable } from '../../../../../core/feed/table.ts';
import { VirtualClock } from '../../../../../core/runtime/clock.ts';
import { text } from '../../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { emptyPartial, encodePartial } from '../../../../../core/summary/partial.ts';
import type { Child } from '../../../../../relay/children/children.ts';
import { Gather } from '../../../../../relay/gather/status/gather.ts';
import { MoveStore } from '../../../../../relay/moves/move-store.ts';
import { Placements } from '../../../../../relay/placements/placements.ts';
import { ordinaryStanding, withoutReplicas } from '../../../../../relay/replicas/replicas.ts';
import { factsOf } from '../../support/facts.ts';

const id = 'center.retail/p';

class Bench {
  readonly store = new MemoryStore();
  readonly placements = new Placements();
  readonly children = new Map<string, Child>();
  readonly #tables = new Map<string, LocalTable>();
  readonly away = new Set<string>();
  /** Children with an unreadable report; the table has its last valid form. */
  readonly refused = new Set<string>();
  /** Replicas whose reports do not count, and those whose rows are of two histories. None of them changes while `frozen`. */
  readonly leftOut = new Set<string>();
  readonly mixed = new Set<string>();
  frozen = false;
  readonly gather = new Gather({
    placements: this.placements,
    children: this.children,
    reportedOf: (child) => this.#tables.get(child),
    isRefused: (_reader, child) => this.refused.has(child),
    connection: (child) => ({ connected: !this.away.has(child), heardAtMs: 5_000 }),
    heldBack: () => [],
    rollouts: {
      place: () => undefined,
      forget: () => undefined,
      wanted: ({ target }) => target,
      base: () => undefined,
    },
    moves: new MoveStore(new VirtualClock()),
    pathOf: (child) => child,
    mailboxOf: () => undefined,
    replicas: {
      ...withoutReplicas,
      standing: (child) => ({
        ...ordinaryStanding,
        counts: !this.leftOut.has(child),
        isFrozen: this.frozen,
        isMixed: this.mixed.has(child),
      }),
    },
  });
  #revision = 0;

  child(name: string): void {
    const destination = { location: name, syncTargetUid: name, labels: {}, facts: factsOf(name), evaluate: () => true };
    this.children.set(name, { name, role: 'agent', destinations: [destination] });
    this.#tables.set(
      name,
      this.store.write((t) => LocalTable.open(t, name)),
    );
  }

  place(...names: string[]): void {
    this.#place(names, 1);
  }

  /** The objects of the placement have changed. */
  target(target: number): void {
    this.#place([...this.placements.get(id)!.children], target);
    this.store.read((reader) => this.gather.refresh(reader, id));
  }

  #place(names: readonly string[], of: number): void {
    const target = { generation: 1, target: of, priority: 0, created: '', uid: '' };
    const children = new Set(names);
    this.placements.set({ id, source: 'center.retail', name: 'p', locationSelectors: [{}], target, children });
  }

  report(child: string, counts: object): boolean {
    const empty = emptyPartial(1, 1);
    const body = encodePartial({ ...empty, counts: { ...empty.counts, expected: 1, fresh: 1, ...counts } });
    const row = { key: entryKey.partial(id), attributes: text('{}'), body };
    return this.store.write((t) => {
      this.#tables.get(child)!.put(t, row, ++this.#revision);
      return this.gather.childChanged(t, id, child);
    });
  }

  look(child: string): void {
    this.store.read((reader) => this.gather.childChanged(reader, id, child));
  }

  total() {
    return this.store.read((reader) => this.gather.total(reader, id));
  }
}

describe('the status that a node gathers of a placement', () => {
  let bench: Bench;

  beforeEach(() => {
    bench = new Bench();
    for (const name of ['a', 'b', 'c']) bench.child(name);
  });

  it('counts a child with an unreadable report as quarantined, and ignores its former report', () => {
    bench.place('a', 'b', 'c');
    bench.total();
    for (const name of ['a', 'b', 'c']) bench.report(name, { available: 1 });
    expect(bench.total()?.counts).toMatchObject({ expected: 3, fresh: 3, available: 3, quarantined: 0 });
    bench.refused.add('b');
    bench.look('b');
    expect(bench.total()?.counts).toMatchObject({ expected: 3, fresh: 2, available: 2, quarantined: 1 });
    bench.refused.delete('b');
    bench.report('b', { available: 1 });
    expect(bench.total()?.counts).toMatchObject({ expected: 3, fresh: 3, available: 3, quarantined: 0 });
  });

  it('is nothing for an unknown placement', () => {
    expect(bench.total()).toBeUndefined();
    expect(bench.report('a', {})).toBe(false);
  });

  it('is the sum over the node’s children, each with its last report', () => {
    bench.place('a', 'b', 'c');
    expect(bench.total()?.counts).toMatchObject({ expected: 3, never: 3, available: 0 });
    bench.report('a', { available: 1 });
    bench.report('b', { conflicted: 1 });
    expect(bench.total()?.counts).toMatchObject({ expected: 3, fresh: 2, never: 1, available: 1, conflicted: 1 });
    bench.report('a', { available: 0 });
    expect(bench.total()?.counts).toMatchObject({ available: 0 });
  });

  it('counts an absent child as stale only', () => {
    bench.place('a', 'b');
    bench.report('a', { available: 1 });
    bench.away.add('a');
    bench.store.read((reader) => bench.gather.childChanged(reader, id, 'a'));
    expect(bench.total()).toMatchObject({
      counts: { expected: 2, stale: 1, never: 1, available: 0 },
      oldestSinceMs: 5_000,
      away: [
        { path: 'a', destinations: 1, reason: 'Away', sinceMs: 5_000 },
        { path: 'b', reason: 'NotReported' },
      ],
    });
  });

  it('includes a child that counts again in the middle of a change only at the end, since another replica still counts it', () => {
    bench.place('a', 'b');
    bench.leftOut.add('b');
    bench.report('a', { available: 1 });
    expect(bench.total()?.counts.expected).toBe(1);
    bench.frozen = true;
    bench.leftOut.delete('b');
    bench.leftOut.add('a');
    for (const name of ['a', 'b']) bench.look(name);
    expect(bench.total()?.counts).toMatchObject({ expected: 1, available: 1 });
    bench.frozen = false;
    for (const name of ['a', 'b']) bench.look(name);
    expect(bench.total()?.counts).toMatchObject({ expected: 1, available: 0 });
  });

  it('keeps the former counts of a replica whose rows are of two histories for a time, and counts nothing for another target', () => {
    bench.place('a', 'b');
    bench.total();
    bench.report('b', { available: 1 });
    bench.frozen = true;
    bench.mixed.add('b');
    bench.report('b', { expected: 2, fresh: 2 });
    expect(bench.total()?.counts).toMatchObject({ expected: 2, available: 1 });
    bench.target(2);
    expect(bench.total()?.counts).toMatchObject({ expected: 1 });
    bench.mixed.delete('b');
    bench.frozen = false;
    bench.look('b');
    expect(bench.total()?.counts).toMatchObject({ expected: 3 });
  });

  it('drops a child that the placement no longer reaches', () => {
    bench.place('a', 'b');
    bench.report('a', { available: 1 });
    expect(bench.total()?.counts.expected).toBe(2);
    bench.place('b');
    bench.store.read((reader) => bench.gather.refresh(reader, id));
    expect(bench.total()?.counts).toMatchObject({ expected: 1, available: 0 });
    expect([bench.gather.expected(id, 'a'), bench.gather.expected(id, 'b')]).toEqual([0, 1]);
  });

  it('reports whether a child has another number of destinations than before', () => {
    bench.place('a');
    bench.total();
    expect(bench.report('a', {})).toBe(false);
    expect(bench.report('a', { expected: 2, fresh: 2 })).toBe(true);
  });

  it('costs one merge for each level of a tree over the children, whatever their number', () => {
    const names = Array.from({ length: 64 }, (_, i) => `n${i}`);
    for (const name of names) bench.child(name);
    bench.place(...names);
    bench.total();
    const before = bench.gather.merges(id);
    bench.report('n17', { available: 1 });
    expect(bench.total()?.counts.available).toBe(1);
    expect(bench.gather.merges(id) - before).toBeLessThanOrEqual(7);
  });
});
