/** A scheduler over one source with the mailboxes of some children, which the test describes. */

import { placementId } from '../../../../core/entries/placement-id.ts';
import type { AppliedChange, Producer } from '../../../../core/feed/feed.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { mergeLabelSummaries } from '../../../../core/match/label-summary.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { formatKey, type ObjectKey } from '../../../../core/object/key.ts';
import type { LabelSelector, Labels } from '../../../../core/object/selector.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { readWatermarks } from '../../../../core/session/watermark.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import type { Transaction } from '../../../../core/store/store.ts';
import type { Child, Destination } from '../../../../relay/children/children.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { Placements } from '../../../../relay/placements/placements.ts';
import type { OutgoingStage } from '../../../../relay/schedule/outgoing.ts';
import type { SchedulePorts } from '../../../../relay/schedule/ports.ts';
import { Scheduler } from '../../../../relay/schedule/schedule.ts';
import { noteSourceChange } from '../../../../relay/schedule/source-changes.ts';
import { markDirty } from '../../../../relay/work/dirty.ts';
import { noGuard } from '../../../support/no-guard.ts';
import { openPassage } from '../../../support/open-passage.ts';
import { type ScheduleStep, ScheduleSteps } from '../../../support/schedule-steps.ts';
import { factsOf } from './facts.ts';
import { noReleases } from './no-releases.ts';

export const source = 'center.retail';
export const idOf = (name: string) => placementId(source, name);
export const mapKey = (name: string) => `o/${source}//configmaps/shop/${name}`;

export const customizerKey = (name: string) => `a/${source}/edge.banyan.io/customizers/shop/${name}`;

export interface PlacementSpec {
  readonly locationSelectors?: readonly LabelSelector[];
  readonly locationExpression?: string;
}

export const selecting = (...sites: string[]): PlacementSpec => ({
  locationSelectors: sites.map((site) => ({ matchLabels: { site } })),
});

export class ScheduleBench {
  readonly store = new MemoryStore();
  readonly table = this.store.write((t) => LocalTable.open(t, `source/${source}`));
  readonly #random = new SeededRandom(1);
  readonly #steps = new ScheduleSteps(this.store);
  /** The inventory entry or the report of each child; `refreshChild` makes the scheduler read it. */
  readonly #known = new Map<string, Child>();
  #revision = 0;
  /** Auxiliary rows that the scheduler announced, as source and key. */
  readonly auxiliaries: string[] = [];
  stages: OutgoingStage[] = [];
  /** Called as in the node's own wiring, after each child that was read again. */
  childRefreshed: (t: Transaction, name: string, stays: boolean) => void = () => undefined;
  auxiliaryChanged: (t: Transaction, source: string, key: ObjectKey) => void = () => undefined;
  /** The rows that `passage` lets through. */
  attaches: (child: string) => boolean = () => true;
  detaches: (child: string) => boolean = () => true;
  guard: SchedulePorts['guard'] = noGuard;
  #mailboxes!: Mailboxes;
  children!: Map<string, Child>;
  placements!: Placements;
  #scheduler!: Scheduler;

  constructor() {
    this.restart();
  }

  /** A start of the process: everything in memory is made again from the store. */
  restart(): void {
    this.#mailboxes = new Mailboxes(this.store, this.#random, `boot-${this.#revision}`, '');
    const present = [...this.#known.values()].filter(({ name }) => this.#mailboxes.get(name));
    this.children = new Map(present.map((child) => [child.name, child]));
    this.placements = new Placements();
    this.#scheduler = new Scheduler({
      askedChanged: () => undefined,
      tableOf: (name) => (name === source ? this.table : undefined),
      mailboxOf: (child) => this.#mailboxes.get(child)?.producer,
      covered: (reader) => readWatermarks(reader).complete,
      children: this.children,
      placements: this.placements,
      refreshChild: (t, name) => {
        const child = this.#known.get(name);
        if (child) {
          this.#mailboxes.ensure(t, name, child.role);
          this.children.set(name, child);
        } else {
          this.#mailboxes.drop(t, name);
          this.children.delete(name);
        }
        this.childRefreshed(t, name, child !== undefined);
        return child !== undefined;
      },
      auxiliaryChanged: (t, name, key) => {
        this.auxiliaries.push(`${name}/${formatKey(key)}`);
        this.auxiliaryChanged(t, name, key);
      },
      releases: noReleases,
      stages: this.stages,
      passage: {
        ...openPassage,
        mayAttach: (_t, _placement, child) => this.attaches(child.name),
        mayDetach: (_t, _id, child) => this.detaches(child),
      },
      guard: this.guard,
    });
    this.store.read((reader) => this.#scheduler.load(reader));
  }

  // ---------------------------------------------------------------------------------------------------- children

  agent(name: string, labels: Labels, expression?: string): void {
    const destination: Destination = {
      location: name,
      syncTargetUid: name,
      labels,
      ...(expression === undefined ? {} : { rest: expression }),
      facts: factsOf(name, labels),
      evaluate: (asked) => asked === expression,
    };
    this.child({ name, role: 'agent', destinations: [destination] });
  }

  /** With the labels of the destinations below it. */
  relay(name: string, below: readonly Labels[]): void {
    const labels = mergeLabelSummaries(below.map((one) => ({ leaves: 1, sets: [{ labels: one, leaves: 1 }] })));
    this.child({ name, role: 'relay', destinations: [], labels });
  }

  child(child: Child): void {
    this.#known.set(child.name, child);
    this.store.write((t) => markDirty(t, 'child', child.name));
  }

  leave(name: string): void {
    this.#known.delete(name);
    this.store.write((t) => markDirty(t, 'child', name));
  }

  // ------------------------------------------------------------------------------------------------------ source

  placement(name: string, spec: PlacementSpec, attributes: object = {}): void {
    this.#put(`p/${idOf(name)}`, attributes, JSON.stringify({ spec }));
    this.target(name);
  }

  target(name: string): void {
    this.#put(`t/${idOf(name)}`, {
      generation: 1,
      target: this.#revision + 1,

      priority: 0,
      created: '',
      uid: '',
    });
  }

  removePlacement(name: string): void {
    for (const key of [`p/${idOf(name)}`, `t/${idOf(name)}`]) this.#remove(key);
  }

  /** The reporting rules of the placement; undefined: none any more. */
  rules(name: string, body: string | undefined): void {
    const key = `u/${idOf(name)}`;
    if (body === undefined) this.#remove(key);
    else this.#put(key, {}, body);
  }

  object(name: string, refs: readonly string[], body = 'x', attributes: object = {}): void {
    this.#put(mapKey(name), { ...attributes, refs: [...refs].sort() }, body);
  }

  customizer(name: string, refs: readonly string[], body = 'x'): void {
    this.#put(customizerKey(name), { refs: [...refs].sort() }, body);
  }

  row(key: string, attributes: object, body: string): void {
    this.#put(key, attributes, body);
  }

  /** A piece of work that another writer has left. */
  mark(...work: [Parameters<typeof markDirty>[1], string]): void {
    this.store.write((t) => markDirty(t, ...work));
  }

  removeCustomizer(name: string): void {
    this.#remove(customizerKey(name));
  }

  removeObject(name: string): void {
    this.#remove(mapKey(name));
  }

  #put(key: string, attributes: object, body = ''): void {
    const content = { key, attributes: text(JSON.stringify(attributes)), body: text(body) };
    this.#write(key, (t, change) => {
      if (this.table.put(t, content, change.originRevision)) noteSourceChange(t, { ...change, after: content });
    });
  }

  #remove(key: string): void {
    this.#write(key, (t, change) => {
      if (this.table.remove(t, change.keyHash)) noteSourceChange(t, change);
    });
  }

  #write(key: string, act: (t: Parameters<typeof noteSourceChange>[0], change: AppliedChange) => void): void {
    const keyHash = hash128(key);
    const originRevision = ++this.#revision;
    this.store.write((t) => {
      const row = this.table.get(t, keyHash);
      const before = row?.content && this.table.content(t, row.content);
      act(t, { key, keyHash, originRevision, ...(before ? { before } : {}) });
    });
  }

  /** From now on, all writes are older than all earlier ones: an older copy of the space has replaced the space. */
  putBack(): void {
    this.#revision = 0;
  }

  // ------------------------------------------------------------------------------------------------------- steps

  /** Placements checked because of changed children, since the last start. */
  get lookedAt(): number {
    return this.#scheduler.lookedAt;
  }

  /** Children checked because of a target, since the last start. */
  get aimed(): number {
    return this.#scheduler.aimed;
  }

  step(): ScheduleStep {
    return this.#steps.step(this.#scheduler);
  }

  /** Runs steps until no work is left. */
  settle(): ScheduleStep[] {
    const steps: ScheduleStep[] = [];
    for (let more = true; more; more = steps.at(-1)!.more) {
      steps.push(this.step());
      if (steps.length > 1000) throw new Error('the scheduler does not come to rest');
    }
    return steps;
  }

  /** Entry keys of a child's mailbox in order of revision, shortened; a tombstone is not shown. */
  mailbox(child: string): string[] {
    const producer = this.#mailboxes.get(child)?.producer;
    if (!producer) return [];
    return this.store.read((reader) =>
      [...producer.rows(reader)]
        .sort((a, b) => a.revision - b.revision)
        .map((row) => producer.content(reader, row.content!).key)
        .map((key) => key.replace(`/${source}/`, '/').replace('/configmaps/shop/', '')),
    );
  }

  /** The body of an object's row in a child's mailbox. */
  body(child: string, name: string): string | undefined {
    const { producer } = this.#mailboxes.get(child)!;
    return this.store.read((reader) => {
      const row = producer.get(reader, hash128(mapKey(name)));
      return row?.content && asText(producer.content(reader, row.content).body);
    });
  }

  mailboxOf(child: string): Producer | undefined {
    return this.#mailboxes.get(child)?.producer;
  }

  head(child: string): number {
    const { producer } = this.#mailboxes.get(child)!;
    return this.store.read((reader) => producer.head(reader));
  }

  originRevision(child: string, key: string): number | undefined {
    const { producer } = this.#mailboxes.get(child)!;
    return this.store.read((reader) => producer.get(reader, hash128(key))?.originRevision);
  }
}
