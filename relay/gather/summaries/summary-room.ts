/**
 * Summaries that users define, as one part of a node. Other rooms call this part when something changes, and it writes the summaries to the parent and into
 * spaces. No other room has to know how they are made.
 */

import type { Space } from '../../../core/apiserver/space.ts';
import { entryKey, parseEntryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { AppliedChange, Producer, Table } from '../../../core/feed/feed.ts';
import { childPath } from '../../../core/identity/node-path.ts';
import { parseBody } from '../../../core/object/canonical.ts';
import { hash128 } from '../../../core/object/hash.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import type { Reader, Store, Transaction } from '../../../core/store/store.ts';
import type { Failure } from '../../../core/summary/partial.ts';
import type { SummarizerSpec } from '../../../core/summary/summarizer-spec.ts';
import { type Child, matchingDestinations } from '../../children/children.ts';
import type { Placement } from '../../placements/placement.ts';
import type { Placements } from '../../placements/placements.ts';
import { type Replicas, withoutReplicas } from '../../replicas/replicas.ts';
import type { OutgoingStage } from '../../schedule/outgoing.ts';
import { ownContributionTopic, shownTopic } from '../../work/topics.ts';
import type { Gather } from '../status/gather.ts';
import { StatusReporter } from '../status/reporter.ts';
import { upsyncedOf } from '../upsynced.ts';
import { Summaries, summarizerResource } from './summaries.ts';
import { type LocationFacts, locationFactsOf } from './summary-rows.ts';
import { type SummaryId, SummaryWriter } from './summary-writer.ts';

export interface SummaryRoomPorts {
  readonly path: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly placements: Placements;
  readonly children: ReadonlyMap<string, Child>;
  readonly gather: Gather;
  readonly outbox: Producer;
  /** Returns the source table of an own space, or the table of the rows that come from above. */
  tableOf(source: string): Table;
  mailboxOf(child: string): Table | undefined;
  reportedOf(child: string): Table | undefined;
  heldBack(id: PlacementId, child: string): readonly Failure[];
  ownSpace(source: string): Space | undefined;
  ownSpaces(): Iterable<Space>;
  defer(run: () => void): void;
  failed(error: unknown): void;
  /** Absent: no relay has replicas. */
  readonly replicas?: Replicas;
}

export class SummaryRoom {
  readonly #ports: SummaryRoomPorts;
  readonly #summaries: Summaries;
  readonly #reporter: StatusReporter;
  readonly writer: SummaryWriter;
  /** The last stage of the way down to agents. It changes no object: it only notes which objects are shipped. */
  readonly stage: OutgoingStage = {
    outgoing: (t, { child, source, keyHash }, what) => {
      this.#summaries.shipped(t, { child: child.name, source, keyHash });
      return what;
    },
  };

  constructor(ports: SummaryRoomPorts) {
    this.#ports = ports;
    const { clock, defer, gather, ownSpace, replicas = withoutReplicas } = ports;
    this.#summaries = new Summaries({
      ...ports,
      pathOf: (child) => childPath(ports.path, child),
      upsyncedOf: (reader, child) => upsyncedOf(reader, childPath(ports.path, child)),
      placeOf: (child, placement) => this.#placeOf(child, placement),
      specOf: (reader, source, name) => this.#specOf(reader, source, name),
      changed: (id, name) => this.#mark(id, name),
      resolved: (id) => ports.store.announce(ownContributionTopic, [id]),
      replicas,
    });
    this.writer = new SummaryWriter({
      ...ports,
      ownSpace,
      summaries: this.#summaries,
      builtIn: (reader, id) => gather.total(reader, id),
      expected: (id, child) => gather.expected(id, child),
    });
    this.#reporter = new StatusReporter({ clock, defer, report: (keys) => this.#report(keys), failed: ports.failed });
  }

  /** Call it when all placements are known. `reported`: summaries that earlier runs of the process have reported to the parent. */
  start(reported: readonly SummaryId[]): void {
    for (const { id } of this.#ports.placements.all()) this.#summaries.placementChanged(id);
    this.writer.sweep();
    for (const { id, name } of reported) this.#mark(id, name);
  }

  stop(): void {
    this.#reporter.stop();
    this.#summaries.stop();
  }

  placementChanged(id: PlacementId): void {
    this.#summaries.placementChanged(id);
  }

  /** Call it when only these children were added or removed, or have another place in the inventory. */
  placementChangedWith(id: PlacementId, children: Iterable<string>): void {
    this.#summaries.placementChangedWith(id, children);
  }

  /** Call it in the transaction of the change. */
  summarizerChanged(t: Transaction, source: string, key: ObjectKey): void {
    this.#summaries.summarizerChanged(t, source, key);
  }

  /** Call it when this node starts or stops counting the child. */
  recount(child: string): void {
    this.#summaries.recount(child);
  }

  placeChanged(child: string): void {
    this.#summaries.placeChanged(child);
  }

  /** Runs after the commit of a child's reports. */
  reportedChanged(child: string, changes: readonly AppliedChange[]): void {
    for (const { key, keyHash } of changes) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'upsynced' || entry?.type === 'associated')
        this.#summaries.clusterObjectChanged(child, entry.source, keyHash);
      else if (entry?.type === 'state') this.#summaries.stateChanged(child, entry.source, entry.object);
      else if (entry?.type === 'summary') this.#summaries.partialChanged(child, entry.id, entry.summarizer);
    }
  }

  /**
   * Call it when the built-in summaries of these placements have changed. The summaries that users define show the built-in summaries as their completeness.
   */
  completenessChanged(ids: readonly PlacementId[]): void {
    for (const id of ids) for (const name of this.#summaries.of(id)?.summaries.keys() ?? []) this.#mark(id, name);
  }

  /** Returns the reasons why summarizers that the placement names can't be used, keyed by name. Undefined: the placement names none. */
  unresolved(id: PlacementId): ReadonlyMap<string, string> | undefined {
    return this.#summaries.of(id)?.unresolved;
  }

  /** Returns the number of merges done for one summary since the start. */
  merges(id: PlacementId, name: string): number {
    return this.#summaries.summary(id, name)?.merges ?? 0;
  }

  #mark(id: PlacementId, name: string): void {
    this.#reporter.mark(`${id}/${name}`);
  }

  #report(keys: readonly string[]): void {
    const ids = keys.map((key) => {
      const slash = key.lastIndexOf('/');
      return { id: key.slice(0, slash), name: key.slice(slash + 1) };
    });
    this.#ports.store.announce(shownTopic, this.writer.write(ids));
  }

  /** Returns the first Location through which the placement reaches the agent, or any Location of the agent if the placement no longer reaches the agent. */
  #placeOf(agent: string, placement: Placement): LocationFacts {
    const child = this.#ports.children.get(agent);
    const [destination] = child ? [...matchingDestinations(placement, child), ...child.destinations] : [];
    return locationFactsOf(childPath(this.#ports.path, agent), destination?.facts);
  }

  #specOf(reader: Reader, source: string, name: string): SummarizerSpec | undefined {
    const key = { ...summarizerResource, name };
    const own = this.#ports.ownSpace(source);
    if (own) return own.get(key)?.spec as SummarizerSpec | undefined;
    const table = this.#ports.tableOf(source);
    const row = table.get(reader, hash128(entryKey.auxiliary(source, key)));
    return row?.content && (parseBody(table.content(reader, row.content).body).spec as SummarizerSpec);
  }
}
