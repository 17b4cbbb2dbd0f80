/**
 * The claims that each child relay may make. They are in `spec.claims` of the child's Node object, otherwise in the node's configuration. Without both, a child may
 * claim everything except the path of another node. What this node itself gave a subtree (labels that Locations inherit, SyncTargets and Locations of inventory
 * spaces) is always allowed, because the child only repeats it.
 */
import type { InventoryBody } from '../../core/entries/down-attributes.ts';
import { childPath, replicaNodePath } from '../../core/identity/node-path.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import { allowedSummary, type RefusedClaims } from '../../core/match/allowed-summary.ts';
import { listedValues, openClaims, type SubtreeClaims } from '../../core/match/claims.ts';
import type { LabelSummary } from '../../core/match/label-summary.ts';
import { type GivenValues, SummaryBounds } from '../../core/match/summary-bounds.ts';
import type { Labels } from '../../core/object/selector.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { LogRate } from '../../core/runtime/log-rate.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Transaction } from '../../core/store/store.ts';

export interface ChildClaimsPorts {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** Returns the claims that were written for the child. Undefined: there are none. */
  written(child: string): SubtreeClaims | undefined;
  /** Returns what the topology gives the child's subtree. */
  given(child: string): SubtreeClaims | undefined;
  /** Returns the inventory of spaces of this node and above that is for agents below the child. */
  inventoryBelow(child: string): Iterable<InventoryBody>;
  /** Called with the number of claims that are refused since the last report of the child. */
  measured(refused: number): void;
}

/** A thief, or a relay with a wrong configuration, may change its labels all the time. One line a minute is enough to notice. */
const logEveryMs = 60_000;

const noClaims: RefusedClaims = { count: 0, sample: [] };

export class ChildClaims {
  readonly #ports: ChildClaimsPorts;
  readonly #refused = new Map<string, RefusedClaims>();
  readonly #logRate: LogRate;
  /** Keyed by the child: the values that this node gave the subtree by inventory spaces. Absent until a report needs them. */
  readonly #given = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();

  constructor(ports: ChildClaimsPorts) {
    this.#ports = ports;
    this.#logRate = new LogRate(ports.clock, logEveryMs);
  }

  /** Returns the part of a relay's label summary that the relay may claim, with the bounds of everything that the summary leaves out. */
  allowed(child: string, summary: LabelSummary, inherited: Labels): ReturnType<typeof allowedSummary> {
    const { name } = splitReplica(child);
    const claims = this.#ports.written(name) ?? openClaims;
    return allowedSummary(
      summary,
      new SummaryBounds(childPath(this.#ports.path, name), claims, this.#givenTo(name, inherited)),
    );
  }

  /** Call it in the transaction that reads the child's report. Counts and logs the claims that were not refused before. */
  note(t: Transaction, child: string, refused: RefusedClaims): void {
    t.afterCommit(() => this.#set(child, refused));
  }

  /** Returns the claims of the child that have no effect. Undefined: there are none. */
  refusedOf(child: string): RefusedClaims | undefined {
    return this.#refused.get(child);
  }

  /** Returns whether claims of the child are refused, so that new inventory for its subtree may allow them. Forgets what was known about that inventory. */
  inventoryChanged(child: string): boolean {
    this.#given.delete(child);
    return this.#refused.has(child);
  }

  forget(child: string): void {
    this.#refused.delete(child);
    this.#logRate.forget(child);
    this.#given.delete(splitReplica(child).name);
  }

  #set(child: string, refused: RefusedClaims): void {
    const { count, sample } = this.#refused.get(child) ?? noClaims;
    if (refused.count === count && refused.sample.every((one, i) => one === sample[i])) return;
    if (refused.count === 0) {
      this.#refused.delete(child);
      return;
    }
    this.#refused.set(child, refused);
    this.#ports.measured(Math.max(1, refused.count - count));
    if (!this.#logRate.allows(child)) return;
    const node = replicaNodePath(this.#ports.path, child);
    this.#ports.log.warn(
      { child: node, ...refused },
      'a child claims labels or properties that it may not claim: they have no effect here; spec.claims of its Node object says what it may claim',
    );
  }

  #givenTo(child: string, inherited: Labels): GivenValues {
    const listed = this.#ports.given(child);
    return (section, key) => {
      const written = listed && listedValues(listed[section === 'properties' ? 'properties' : 'labels'], key);
      if (written === 'any') return written;
      const own = section === 'labels' && Object.hasOwn(inherited, key) ? [inherited[key]!] : [];
      return new Set([...(written ?? []), ...own, ...(this.#inventoryGivenTo(child).get(`${section}/${key}`) ?? [])]);
    };
  }

  #inventoryGivenTo(child: string): ReadonlyMap<string, ReadonlySet<string>> {
    const before = this.#given.get(child);
    if (before) return before;
    const found = new Map<string, Set<string>>();
    const add = (section: string, values: Readonly<Record<string, string>> = {}) => {
      for (const [key, value] of Object.entries(values)) {
        const at = `${section}/${key}`;
        found.set(at, (found.get(at) ?? new Set()).add(value));
      }
    };
    for (const { syncTarget, locations } of this.#ports.inventoryBelow(child)) {
      add('targetLabels', syncTarget.metadata.labels);
      add('properties', (syncTarget.spec as { properties?: Record<string, string> } | undefined)?.properties);
      for (const { metadata } of locations) add('labels', metadata.labels);
    }
    this.#given.set(child, found);
    return found;
  }
}
