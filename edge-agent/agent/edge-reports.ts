/**
 * Makes the reports that exist beside the state of placed objects: about objects that were created at the edge (`upsync/`), and about objects that placed
 * objects own (`associated/`), by the rules of this agent's placements. This class passes rules to the two rooms, and their entries to the outbox.
 */

import { type EntryKey, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { AssociatedAttributes, UpsyncedAttributes } from '../../core/entries/up-attributes.ts';
import { type Acceptance, accepts, ruledOutText } from '../../core/match/acceptance.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { displayKey, formatKey, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { text } from '../../core/store/bytes.ts';
import type { Failure } from '../../core/summary/partial.ts';
import { Associated } from '../associated/associated.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Desired } from '../desired/desired.ts';
import { type UpFeedEntry, upFeedEntryBytesMax } from '../outbox/outbox.ts';
import { type Taker, Upsync, type UpsyncEvents, upsyncObjectsMax } from '../upsync/upsync.ts';

export interface EdgeReportsPorts {
  readonly path: string;
  readonly cluster: Cluster;
  readonly desired: Desired;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The rules of the site about objects of each source. A source reads back only objects that they accept. */
  readonly accept?: Acceptance | undefined;
  /** The keys of the objects that the agent has brought to the cluster. */
  placed(): Iterable<string>;
  /** The uid of the object on the cluster. Undefined: the object is not on the cluster. */
  uidOf(key: string): string | undefined;
}

export interface EdgeReportsEvents {
  /** Called when the content of this up-feed entry may have changed. */
  touch(key: string): void;
  /**
   * The answer of `takerOf` for an object of the down feed may have changed: a rule begins to take the object, no rule takes the object any more, or the
   * answer was unknown and is not any more.
   */
  taken(key: string): void;
  /** The answer of `ruledOut` has changed. */
  ruledOutChanged(): void;
}

/** If the cluster does not answer which kinds it serves, the agent asks again after this time. */
const retryMs = 5_000;

export class EdgeReports {
  readonly #ports: EdgeReportsPorts;
  readonly #events: EdgeReportsEvents;
  readonly #upsync: Upsync;
  readonly #associated: Associated;
  /** Up-feed entries that the outbox asked for before this class knew their content. */
  readonly #unsure = new Set<string>();
  /** Up-feed entries that have become larger than an entry may be, with their size in bytes. */
  readonly #tooLarge = new Map<string, number>();
  /** The parts of each placement's upsync rules that the site rules out. */
  #ruledOut: ReadonlyMap<PlacementId, readonly string[]> = new Map();
  #retryTimer: Timer | undefined;
  #stopped = false;

  constructor(ports: EdgeReportsPorts, events: EdgeReportsEvents) {
    this.#ports = ports;
    this.#events = events;
    const { cluster, clock, desired, path } = ports;
    const ofUpsync: UpsyncEvents = {
      changed: (key, sources) => {
        for (const source of sources) events.touch(entryKey.upsynced(source, path, parseKey(key)));
      },
      taken: (key) => {
        if (desired.deliveries(key).length > 0) events.taken(key);
      },
      counted: (id) => events.touch(entryKey.partial(id)),
      synced: () => this.#touchUnsure(),
      readFailed: (key, error) => this.#readFailed(key, error),
    };
    this.#upsync = new Upsync(cluster, clock, ofUpsync, (source, key) => accepts(ports.accept, source, key));
    this.#associated = new Associated(
      { cluster, clock, deliveryOf: (key) => desired.deliveries(key)[0] },
      {
        changed: (source, key) => events.touch(entryKey.associated(source, parseKey(key))),
        synced: () => this.#touchUnsure(),
        failed: (error) => this.#scheduleRetry(error),
        readFailed: (key, error) => this.#readFailed(key, error),
      },
    );
  }

  /** Called when the placements or their rules have changed. */
  rulesChanged(): void {
    const { desired, placed } = this.#ports;
    const rules = [...desired.rules()];
    const before = this.#presentTakers();
    const changes = [
      this.#upsync.setRules(rulesOf(rules.map(([id, { upsync }]) => [id, upsync]))),
      this.#associated.setRules(rulesOf(rules.map(([id, { associated }]) => [id, associated]))),
    ];
    this.#whenAnswered(changes);
    for (const key of placed()) this.placed(key);
    const after = this.#presentTakers();
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      if (before.get(key) !== after.get(key)) this.#events.taken(key);
    }
    for (const [id] of rules) this.#events.touch(entryKey.partial(id));
  }

  kindsChanged(): void {
    this.#whenAnswered([this.#upsync.kindsChanged(), this.#associated.kindsChanged()]);
  }

  /** The parts of each placement's upsync rules that the site rules out: kinds, and kinds in namespaces. */
  ruledOut(): ReadonlyMap<PlacementId, readonly string[]> {
    return this.#ruledOut;
  }

  /** Called when the object was brought to the cluster, has changed there, or is gone. */
  placed(key: string): void {
    this.#associated.place(key, this.#ports.uidOf(key));
  }

  /** Returns the placement of the source whose upsync rule takes the object. 'unknown': the event `taken` follows when the answer is known. */
  takerOf(source: string, key: string, object: KubeObject): Promise<Taker> {
    return this.#upsync.takerOf(source, key, object.metadata.labels ?? {});
  }

  /** Resolves when the event `taken` was sent for each object whose taker was unknown. */
  decided(): Promise<void> {
    return this.#upsync.decided();
  }

  entryOf(entry: EntryKey): UpFeedEntry | undefined | 'unsure' {
    if (entry.type === 'upsynced') return this.#upsyncedEntry(entry.source, entry.path, formatKey(entry.object));
    if (entry.type === 'associated') return this.#associatedEntry(entry.source, formatKey(entry.object));
    return undefined;
  }

  /** Called when the report about an object is larger than an entry is allowed to be. Undefined: the report has a valid size again. */
  tooLarge(key: string, bytes: number | undefined): void {
    if (bytes === undefined) this.#tooLarge.delete(key);
    else this.#tooLarge.set(key, bytes);
    for (const [id] of this.#ports.desired.rules()) this.#events.touch(entryKey.partial(id));
  }

  /** Notes about the rules of a placement, for the author of the placement. */
  notes(id: PlacementId): Failure[] {
    return [...this.#acceptanceNotes(id), ...this.#countNotes(id), ...this.#sizeNotes(id)];
  }

  stop(): void {
    this.#stopped = true;
    this.#retryTimer?.stop();
    this.#upsync.stop();
    this.#associated.stop();
  }

  /** `answers`: of the cluster, about the kinds that it serves. The scope of a kind decides what the site rules out. */
  #whenAnswered(answers: readonly Promise<void>[]): void {
    const judge = () => this.#judgeRules();
    for (const answer of answers) answer.then(judge, (error: unknown) => this.#scheduleRetry(error));
  }

  #judgeRules(): void {
    const before = this.#ruledOut;
    this.#ruledOut = this.#upsync.ruledOut(this.#ports.accept);
    if (this.#stopped || stableStringify([...before]) === stableStringify([...this.#ruledOut])) return;
    for (const id of new Set([...before.keys(), ...this.#ruledOut.keys()])) this.#events.touch(entryKey.partial(id));
    this.#events.ruledOutChanged();
  }

  #acceptanceNotes(id: PlacementId): Failure[] {
    const { path, accept = [] } = this.#ports;
    const parts = this.#ruledOut.get(id);
    if (!parts) return [];
    const message = ruledOutText(accept, path, splitPlacementId(id).source, parts);
    return [{ path, object: 'spec.upsync', reason: 'NotAccepted', message }];
  }

  #countNotes(id: PlacementId): Failure[] {
    const count = this.#upsync.count(id);
    if (count <= upsyncObjectsMax) return [];
    const message = `${count} objects match, and only the first ${upsyncObjectsMax} of them by key are reported; select fewer in spec.upsync`;
    return [{ path: this.#ports.path, object: 'spec.upsync', reason: 'UpsyncLimit', message }];
  }

  #sizeNotes(id: PlacementId): Failure[] {
    const { source, name } = splitPlacementId(id);
    return [...this.#tooLarge].flatMap(([key, bytes]) => {
      const entry = parseEntryKey(key);
      if ((entry?.type !== 'upsynced' && entry?.type !== 'associated') || entry.source !== source) return [];
      const of = entry.type === 'upsynced' ? this.#upsync : this.#associated;
      if (!of.reportOf(source, formatKey(entry.object))?.refs.includes(name)) return [];
      const message = `it has ${bytes} bytes, and a report may have no more than ${upFeedEntryBytesMax}: its report is an older one, or missing; make the object smaller on its cluster`;
      return [{ path: this.#ports.path, object: displayKey(entry.object), reason: 'TooLarge', message }];
    });
  }

  #upsyncedEntry(source: string, path: string, key: string): UpFeedEntry | undefined | 'unsure' {
    const report = path === this.#ports.path ? this.#upsync.reportOf(source, key) : undefined;
    if (!report)
      return this.#upsync.isComplete(key)
        ? undefined
        : this.#markUnsure(entryKey.upsynced(source, path, parseKey(key)));
    const { body, ...attributes } = report satisfies UpsyncedAttributes;
    return { attributes: text(stableStringify(attributes)), body };
  }

  #associatedEntry(source: string, key: string): UpFeedEntry | undefined | 'unsure' {
    const report = this.#associated.reportOf(source, key);
    if (!report)
      return this.#associated.isComplete(key)
        ? undefined
        : this.#markUnsure(entryKey.associated(source, parseKey(key)));
    const { body, ...attributes } = report satisfies AssociatedAttributes;
    return { attributes: text(stableStringify(attributes)), body };
  }

  #markUnsure(entry: string): 'unsure' {
    this.#unsure.add(entry);
    return 'unsure';
  }

  #touchUnsure(): void {
    const entries = [...this.#unsure];
    this.#unsure.clear();
    for (const entry of entries) this.#events.touch(entry);
  }

  #readFailed(object: string, error: unknown): void {
    const words = "an object that has to be reported can't be read; the agent tries again, less and less often";
    this.#ports.logger.warn({ object, error: describeError(error) }, words);
  }

  #scheduleRetry(error: unknown): void {
    this.#ports.logger.warn(
      { error: describeError(error) },
      'the cluster does not answer which kinds it serves; the agent asks again',
    );
    if (this.#stopped) return;
    this.#retryTimer?.stop();
    this.#retryTimer = this.#ports.clock.after(retryMs, () => this.kindsChanged());
  }

  /** For each object of the down feed that a rule of its source takes: the placement of this rule. */
  #presentTakers(): Map<string, PlacementId> {
    const { desired } = this.#ports;
    const taken = new Map<string, PlacementId>();
    if (!this.#upsync.isActive) return taken;
    for (const key of desired.objects()) {
      const [winner] = desired.deliveries(key);
      if (!winner) continue;
      const taker = this.#upsync.takerNow(winner.source, key, desired.object(winner).metadata.labels ?? {});
      if (taker !== undefined) taken.set(key, taker);
    }
    return taken;
  }
}

/** Returns the rules sorted by placement id, without the placements that have no rules. */
function rulesOf<T>(rules: [PlacementId, readonly T[]][]): Map<PlacementId, readonly T[]> {
  return new Map(rules.filter(([, items]) => items.length > 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}
