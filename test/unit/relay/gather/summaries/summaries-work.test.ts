import { beforeEach, describe, expect, it } from 'vitest';
import { entryKey } from '../../../../../core/entries/entry-keys.ts';
import { placementId } from '../../../../../core/entries/placement-id.ts';
import { LocalTable } from '../../../../../core/feed/table.ts';
import { hash128 } from '../../../../../core/object/hash.ts';
import { parseKey } from '../../../../../core/object/key.ts';
import { text } from '../../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import type { SummarizerSpec } from '../../../../../core/summary/summarizer-spec.ts';
import type { Child } from '../../../../../relay/children/children.ts';
import { Summaries } from '../../../../../relay/gather/summaries/summaries.ts';
import { locationFactsOf } from '../../../../../relay/gather/summaries/summary-rows.ts';
import type { Placement } from '../../../../../relay/placements/placement.ts';
import { Placements, storeSelected } from '../../../../../relay/placements/placements.ts';
import { withoutReplicas } from '../../../../../relay/replicas/replicas.ts';
import { field } from '../../../core/summary/support.ts';

const source = 'center.retail';
const agents = ['a', 'b', 'c'];
const objectOf = (name: string) => parseKey(`/configmaps/shop/${name}`);
const summarizerOf = (name: string) => parseKey(`edge.banyan.io/statussummarizers//${name}`);

/** The number of placements that were checked. */
class CountedPlacements extends Placements {
  looks = 0;

  override get(id: string): Placement | undefined {
    this.looks++;
    return super.get(id);
  }
}

/** Placements p0, p1, …, each with an object and a summarizer of its own name at each agent; no summarizer names the object `plain`. */
class Bench {
  readonly #store = new MemoryStore();
  readonly #source = this.#table('source');
  readonly #mailboxes = new Map(agents.map((name) => [name, this.#table(`mailbox/${name}`)]));
  readonly #reported = new Map(agents.map((name) => [name, this.#table(`reported/${name}`)]));
  readonly #turns: (() => void)[] = [];
  readonly placements = new CountedPlacements();
  readonly #spec: SummarizerSpec = { combinedFields: [field('n', 'COUNT')], maxGroups: 10, limit: 10 };
  readonly specs = new Set<string>();
  readonly changed: string[] = [];
  readonly summaries = new Summaries({
    store: this.#store,
    placements: this.placements,
    children: new Map<string, Child>(agents.map((name) => [name, { name, role: 'agent', destinations: [] }])),
    tableOf: () => this.#source,
    mailboxOf: (child) => this.#mailboxes.get(child),
    reportedOf: (child) => this.#reported.get(child),
    pathOf: (child) => child,
    placeOf: (child) => locationFactsOf(child, undefined),
    upsyncedOf: () => [],
    heldBack: () => [],
    specOf: (_reader, _source, name) => (this.specs.has(name) ? this.#spec : undefined),
    defer: (run) => this.#turns.push(run),
    changed: (id) => this.changed.push(id),
    resolved: () => undefined,
    failed: (error) => {
      throw error;
    },
    replicas: withoutReplicas,
  });

  constructor(count: number) {
    this.object('plain', {});
    for (let i = 0; i < count; i++) this.#place(`p${i}`);
    this.turn();
    this.changed.length = 0;
  }

  /** The object at its source, at each agent, and in the report of each. */
  object(name: string, summarizers: Record<string, string[]>): void {
    const key = entryKey.object(source, objectOf(name));
    const refs = Object.keys(summarizers);
    const attributes = { uid: name, created: '2026-01-01T00:00:00Z', generation: 1, refs, summarizers };
    const content = { key, attributes: text(JSON.stringify(attributes)), body: text('{"metadata":{}}') };
    const stateAttributes = text(JSON.stringify({ desired: 1, applied: true, available: true }));
    this.#store.write((t) => {
      for (const table of [this.#source, ...this.#mailboxes.values()]) table.put(t, content, 1);
      for (const table of this.#reported.values()) {
        table.put(
          t,
          { key: entryKey.state(source, objectOf(name)), attributes: stateAttributes, body: new Uint8Array(0) },
          1,
        );
      }
      for (const placement of refs) storeSelected(t, placementId(source, placement), hash128(key));
    });
  }

  /** An agent gets the object again; returns the number of placements that were checked for that. */
  ship(name: string, child = 'a'): number {
    const keyHash = hash128(entryKey.object(source, objectOf(name)));
    return this.#looks(() => this.#store.write((t) => this.summaries.shipped(t, { child, source, keyHash })));
  }

  /** The same for a summarizer that is edited. */
  edit(name: string): number {
    return this.#looks(() => this.#store.write((t) => this.summaries.summarizerChanged(t, source, summarizerOf(name))));
  }

  rows(name: string): number | undefined {
    return this.summaries.summary(placementId(source, name), name)?.total(() => 1).rows;
  }

  turn(): void {
    for (let turn = this.#turns.shift(); turn; turn = this.#turns.shift()) turn();
  }

  #place(name: string): void {
    const id = placementId(source, name);
    const spec = { downsync: [{ apiGroup: '', resources: ['configmaps'], statusSummarizers: [name] }] };
    const body = text(JSON.stringify({ metadata: { name }, spec }));
    this.specs.add(name);
    this.object(name, { [name]: [name] });
    this.#store.write((t) => this.#source.put(t, { key: entryKey.placement(id), attributes: text('{}'), body }, 1));
    this.placements.set({ id, source, name, locationSelectors: [], children: new Set(agents) });
    this.summaries.placementChanged(id);
  }

  #looks(act: () => void): number {
    const before = this.placements.looks;
    act();
    this.turn();
    return this.placements.looks - before;
  }

  #table(name: string): LocalTable {
    return this.#store.write((t) => LocalTable.open(t, name));
  }
}

describe('the work of one change among two hundred placements with summaries', () => {
  let bench: Bench;

  beforeEach(() => {
    bench = new Bench(200);
  });

  it('is none for an object that no summarizer names', () => {
    expect(bench.ship('plain')).toBe(0);
    expect(bench.changed).toEqual([]);
  });

  it('concerns the placement that has a row of the object, even if the placement is to lose it', () => {
    expect(bench.rows('p7')).toBe(3);
    expect(bench.ship('p7')).toBe(1);
    bench.object('p7', {});
    expect([bench.ship('p7', 'a'), bench.rows('p7')]).toEqual([1, 2]);
    expect([bench.ship('p7', 'b'), bench.rows('p7')]).toEqual([1, 1]);
    expect([bench.ship('p7', 'c'), bench.rows('p7')]).toEqual([1, 0]);
    expect(bench.ship('p7', 'a')).toBe(0);
  });

  it('concerns the placement that wants a row from now on', () => {
    bench.object('plain', { p9: ['p9'] });
    expect([bench.ship('plain'), bench.rows('p9')]).toEqual([1, 4]);
  });

  it('concerns the placements that name a summarizer which was edited, removed or added', () => {
    expect(bench.edit('p3')).toBe(1);
    expect(bench.edit('nobody')).toBe(0);
    bench.specs.delete('p3');
    expect([bench.edit('p3'), bench.rows('p3')]).toEqual([1, undefined]);
    // Its rows went with it.
    bench.object('p3', {});
    expect(bench.ship('p3')).toBe(0);
    bench.object('p3', { p3: ['p3'] });
    bench.specs.add('p3');
    bench.edit('p3');
    expect(bench.rows('p3')).toBe(3);
    expect([...new Set(bench.changed)]).toEqual([placementId(source, 'p3')]);
  });

  it('ends with a removed placement or agent', () => {
    const id = placementId(source, 'p5');
    bench.placements.get(id)!.children.delete('a');
    bench.summaries.placementChangedWith(id, ['a']);
    expect(bench.rows('p5')).toBe(2);
    bench.placements.delete(id);
    bench.summaries.placementChanged(id);
    bench.object('p5', {});
    expect([bench.ship('p5', 'a'), bench.ship('p5', 'b'), bench.edit('p5')]).toEqual([0, 0, 0]);
  });
});
