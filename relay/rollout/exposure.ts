/**
 * The last hop of a release: decides which of this node's agents have the candidate, and which have the promoted form. Only this node decides this, within the
 * authorisation of the release row (core/rollout/local.ts). The decision is durable: an agent that has the candidate keeps it over restarts of this node.
 *
 * This node hands out nothing that it does not know completely. All rows of a release arrive in any order. An agent's mailbox stays as it is while the release
 * row is missing, or covers other rows than those that this node has (relay/promoted/digest.ts). The store records which rows are kept back for this reason,
 * and the node processes them again when it knows more.
 */

import type { ObjectAttributes, TargetAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, type EntryKey, entryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { Table } from '../../core/feed/feed.ts';
import { LocalRelease } from '../../core/rollout/local.ts';
import { emptyPart, notReceived, type RolloutPart, silentPart } from '../../core/rollout/part.ts';
import { isPromoted } from '../../core/rollout/release.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { asText, prefixRange, text } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import { ifRoom, roomAgainMs } from '../../core/store/room.ts';
import type { Reader, Store, Transaction } from '../../core/store/store.ts';
import type { PlacementTarget } from '../../core/summary/contribution.ts';
import type { Partial } from '../../core/summary/partial.ts';
import { type Child, matchingDestinations } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import { ensureDigest, forgetDigest } from '../promoted/digest.ts';
import { holders, type Promoted, promotedOf } from '../promoted/held-back.ts';
import { isHeldCustomizer } from '../promoted/held-customizers.ts';
import type { OutgoingContent, OutgoingStage, Shipment } from '../schedule/outgoing.ts';
import { isDirty, markDirty } from '../work/dirty.ts';
import { atChild, contributionTopic, ownContributionTopic } from '../work/topics.ts';
import { CarriedReleases } from './carried.ts';
import { exposureKey, storedExposures, withheldKey, withheldRows } from './exposure-rows.ts';
import type { HandedReleases } from './handed.ts';
import { isRenewal, type KnownRelease, KnownReleases } from './known-releases.ts';
import { type RolloutStatus, rolloutBelow } from './status.ts';

export interface ExposurePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly placements: Placements;
  tableOf(source: string): Table | undefined;
  /** Returns the path that decides the position of a destination. The path is the same at all replicas, while each replica has its own inventory objects. */
  pathOf(child: string): string;
  /** The records that agents carry from one replica of this node to another. */
  readonly handed: HandedReleases;
  /** Returns how old a row of this source can be when it arrives (core/rollout/authority.ts). */
  authorizationAgeMs(source: string): number;
  /** Runs the function in a later turn of the event loop, after everything that waits already. */
  defer(run: () => void): void;
}

export class Exposures implements OutgoingStage {
  readonly #ports: ExposurePorts;
  readonly #releases: KnownReleases;
  /** Releases that agents got from other replicas. */
  readonly carried: CarriedReleases;
  /** Placements with rows that are kept back until the node knows their release completely. The store has these rows. */
  readonly #withholding = new Set<PlacementId>();
  /**
   * Placements whose changed release row was not processed when the last process ended. The row in memory is the changed row already, so a comparison would
   * find no change.
   */
  readonly #unfinished = new Set<PlacementId>();
  #stopped = false;

  constructor(ports: ExposurePorts) {
    this.#ports = ports;
    this.#releases = new KnownReleases(ports);
    this.carried = new CarriedReleases({ ...ports, releases: this.#releases });
  }

  /** Runs at the start, when the placements are in memory. */
  load(reader: Reader): void {
    // Also reads releases of placements whose own row, which makes them staged, has not arrived yet: their release row might not change again.
    for (const { id } of this.#ports.placements.all()) {
      if (this.#releases.learn(reader, id, undefined) && isDirty(reader, 'auxiliary', entryKey.release(id)))
        this.#unfinished.add(id);
    }
    const prefix = prefixOf('withheld');
    for (const [key] of reader.scan(prefixRange(prefix))) {
      this.#withholding.add(asText(key.subarray(prefix.length, key.indexOf(0, prefix.length))));
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const { timer, expiry } of this.#releases.all()) {
      timer?.stop();
      expiry?.stop();
    }
  }

  // ------------------------------------------------------------------------------------------------------- changes

  /**
   * Call it when a release row, or a promoted form of an object, was added, changed or removed. Returns true if agents may be at another step of the release
   * now.
   */
  rowChanged(
    t: Transaction,
    entry: EntryKey & { readonly type: 'promoted' | 'promotedCustomizer' | 'release' },
  ): boolean {
    const { id } = entry;
    if (entry.type !== 'release') return false;
    const before = this.#releases.get(id);
    const after = this.#releases.learn(
      t,
      id,
      this.#ports.clock.monotonicMs() - this.#ports.authorizationAgeMs(entry.source),
    );
    const table = this.#ports.tableOf(entry.source);
    if (after) this.#awaitExpiry(id, after);
    if (after && table) ensureDigest(t, table, id);
    else forgetDigest(t, id);
    const isUnfinished = this.#unfinished.delete(id);
    if (before && after && !isUnfinished && isRenewal(before.release, after.release)) {
      before.local?.renew(after.release);
      this.#schedule(id, after);
      return false;
    }
    this.#releaseChanged(t, id, before, after);
    if (after) this.carried.released(t, id, after);
    return true;
  }

  /**
   * Call it when all dirty rows are processed. Rows that were kept back from agents become work again, if their release is known completely now. Returns true
   * if there are any.
   */
  release(t: Transaction): boolean {
    let hasWork = false;
    for (const id of this.#withholding) {
      if (this.#ports.placements.get(id)?.staged && !this.#releases.isWhole(t, id)) continue;
      this.#withholding.delete(id);
      for (const key of withheldRows(t, id)) {
        if (key === entryKey.target(id)) markDirty(t, 'target', id);
        else markDirty(t, 'row', key, [splitPlacementId(id).name]);
        t.remove(withheldKey(id, key));
        hasWork = true;
      }
    }
    return hasWork;
  }

  #withhold(t: Transaction, id: PlacementId, key: string): void {
    t.put(withheldKey(id, key), new Uint8Array(0));
    this.#withholding.add(id);
  }

  attached(t: Transaction, id: PlacementId, child: string): void {
    this.carried.attached(t, id, child);
  }

  detached(t: Transaction, id: PlacementId, child: string): string[] {
    this.forget(id, child);
    this.#ports.handed.forget(t, id, child);
    if (this.#releases.get(id)?.exposed.delete(child)) t.remove(exposureKey(id, child));
    return withheldRows(t, id).filter((key) => key.startsWith('o/'));
  }

  /**
   * Runs when the release row shows another release or another wave, or when the release has ended. Agents with the candidate of an earlier release lose that
   * candidate.
   */
  #releaseChanged(
    t: Transaction,
    id: PlacementId,
    before: KnownRelease | undefined,
    after: KnownRelease | undefined,
  ): void {
    // Both are absent if the row was removed and this process has never read it.
    const exposed = (after ?? before)?.exposed ?? storedExposures(t, id);
    for (const [child, release] of [...exposed]) {
      if (after && !isPromoted(after.release) && release === after.release.release) continue;
      // If the agent's object has another promoted form, the agent goes back to that form.
      markDirty(t, 'exposure', `${id} ${child}`);
      t.remove(exposureKey(id, child));
      after?.exposed.delete(child);
    }
    markDirty(t, 'target', id);
  }

  // ------------------------------------------------------------------------------------------------------- shipments

  outgoing(t: Transaction, shipment: Shipment, what: OutgoingContent): OutgoingContent {
    if (what.type === 'keep' || what.type === 'later') return what;
    const { child, source, keyHash, changed } = shipment;
    const { placements, tableOf } = this.#ports;
    const wantedBy = refsOf(what).map((name) => placementId(source, name));
    // The object was just removed. Its promoted form may still be on its way, or may have arrived together with the row that makes its placement staged.
    const formerPlacements =
      what.type === 'nothing' && changed ? changed.refs.map((name) => placementId(source, name)) : [];
    const isStaged = (id: PlacementId) => this.#releases.isStaged(t, id);
    if (placements.staged().size === 0 && !wantedBy.some(isStaged) && !formerPlacements.some(isStaged)) return what;
    const reaches = (id: PlacementId) => placements.get(id)?.children.has(child.name) ?? false;
    // A placement without stages brings the object to the agent as it is.
    if (wantedBy.some((id) => reaches(id) && !isStaged(id))) return what;
    const table = tableOf(source);
    if (!table) return what;
    let promotedForm: OutgoingContent | undefined;
    /** The entry key of an object that the candidate lacks. */
    let promotedKey: string | undefined;
    const incomplete: PlacementId[] = [];
    // Sorted by name: if two placements hold back the same object, every call chooses the same placement.
    for (const id of [...new Set([...wantedBy, ...formerPlacements, ...holders(t, keyHash)])].sort()) {
      if (!isStaged(id) || !reaches(id)) continue;
      const promoted = promotedOf(t, table, id, keyHash);
      const isInCandidate = wantedBy.includes(id);
      const isWanted = isInCandidate || promoted?.content !== undefined;
      if (
        (isWanted || (formerPlacements.includes(id) && this.#releases.get(id) !== undefined)) &&
        !this.#releases.isWhole(t, id)
      ) {
        promotedKey ??= promoted?.content?.key;
        incomplete.push(id);
        continue;
      }
      if (!promoted && !isInCandidate) continue;
      if (this.#releases.hasCandidate(id, child.name)) return what;
      if (!promoted && !usesHeld(t, id, what)) return what;
      promotedForm ??= this.#ports.handed.notOlder(
        t,
        { id, child: child.name, release: this.#releases.get(id)?.release },
        { keyHash, row: table.get(t, keyHash) },
        asPromoted(id, promoted, what),
      );
    }
    const key = what.type === 'content' ? what.content.key : (changed?.key ?? promotedKey);
    if (incomplete.length > 0 && key !== undefined) {
      for (const id of incomplete) this.#withhold(t, id, key);
      return { type: 'keep' };
    }
    return promotedForm ?? what;
  }

  /** Returns the target for an agent's reports. Undefined: this node does not know the release completely yet, and the target in the agent's mailbox stays. */
  targetFor(
    t: Transaction,
    placement: Placement,
    child: string,
    target: TargetAttributes,
  ): TargetAttributes | undefined {
    if (!placement.staged) return target;
    if (!this.#releases.isWhole(t, placement.id)) {
      this.#withhold(t, placement.id, entryKey.target(placement.id));
      return undefined;
    }
    const { release } = this.#releases.get(placement.id)!;
    const handed = this.#releases.hasCandidate(placement.id, child);
    this.#ports.handed.write(t, placement.id, child, release, handed);
    return handed ? target : { ...target, target: release.promotedTarget };
  }

  /** Returns what a node below the origin knows about a release, for the status of the placement that this node shows. */
  below(reader: Reader, id: PlacementId): RolloutStatus | undefined {
    const known = this.#ports.placements.get(id)?.staged && this.#releases.get(id);
    if (!known) return undefined;
    const { release, renewedAtMs } = known;
    const ageMs = renewedAtMs === undefined ? undefined : this.#ports.clock.monotonicMs() - renewedAtMs;
    return rolloutBelow(release, { isWhole: this.#releases.isWhole(reader, id), exposed: known.exposed.size, ageMs });
  }

  /** Returns the target that the counts are about. After a rollback, this is the target of the promoted form, to which the destinations go back. */
  wanted(placement: Placement): PlacementTarget | undefined {
    const { target } = placement;
    const release = placement.staged && this.#releases.get(placement.id)?.release;
    return target && release?.rolledBack ? { ...target, target: release.promotedTarget } : target;
  }

  /** Returns whether the last release was rolled back, and nothing has changed since. */
  isRolledBack(id: PlacementId): boolean {
    return this.#ports.placements.get(id)?.staged === true && this.#releases.get(id)?.release.rolledBack === true;
  }

  // ------------------------------------------------------------------------------------------------------- reports

  /** Returns one child's part of a release that is not yet promoted. */
  place(
    placement: Placement,
    child: Child,
    view: { readonly connected: boolean; readonly reported?: Partial },
  ): RolloutPart | undefined {
    const known = placement.staged && this.#releases.get(placement.id);
    if (!known || isPromoted(known.release)) return undefined;
    const { release } = known;
    const { connected, reported } = view;
    if (child.role === 'relay') {
      const part = reported?.rollout;
      if (!connected) return part && part.release === release.release ? silentPart(part) : undefined;
      if (part?.release === release.release) return part;
      return { ...emptyPart(release.release, 0), received: notReceived };
    }
    known.local ??= new LocalRelease(release, this.#ports.clock.monotonicMs(), placement.children.size);
    const { generation, target } = placement.target ?? {};
    const current = reported?.generation === generation && reported?.target === target ? reported : undefined;
    const part = known.local.set(child.name, {
      path: this.#ports.pathOf(child.name),
      labels: matchingDestinations(placement, child).map(({ labels }) => labels),
      connected,
      exposed: known.exposed.get(child.name) === release.release,
      available: current?.counts.available === 1,
      failed: current?.counts.failed === 1,
    });
    this.#schedule(placement.id, known);
    return part;
  }

  forget(id: PlacementId, child: string): void {
    this.#releases.get(id)?.local?.delete(child);
  }

  /** Returns the node's own part of a release, without its children: the node has received the release, and its own budget may hold back agents. */
  base(id: PlacementId): RolloutPart | undefined {
    const known = this.#ports.placements.get(id)?.staged && this.#releases.get(id);
    if (!known || isPromoted(known.release)) return undefined;
    return known.local?.own() ?? emptyPart(known.release.release, 0);
  }

  // -------------------------------------------------------------------------------------------------------- admission

  /** The status that this node shows says when the authorisation has expired. */
  #awaitExpiry(id: PlacementId, known: KnownRelease): void {
    const { clock, store } = this.#ports;
    const { release, renewedAtMs } = known;
    if (renewedAtMs === undefined || isPromoted(release)) return;
    const leftMs = renewedAtMs + release.authorizationSeconds * 1000 - clock.monotonicMs();
    known.expiry = clock.after(Math.max(0, leftMs), () => store.announce(ownContributionTopic, [id]));
  }

  #schedule(id: PlacementId, known: KnownRelease): void {
    if (known.scheduled || !known.local || known.local.waiting === 0) return;
    known.scheduled = true;
    this.#ports.defer(() => {
      known.scheduled = false;
      // If another release row has arrived meanwhile, another entry has replaced this one.
      if (!this.#stopped && this.#releases.get(id) === known) this.#admit(id, known);
    });
  }

  /** Returns whether this node knows the release completely, and no newer release row waits to be processed. */
  #isKnown(reader: Reader, id: PlacementId): boolean {
    return !isDirty(reader, 'auxiliary', entryKey.release(id)) && this.#releases.isWhole(reader, id);
  }

  #admit(id: PlacementId, known: KnownRelease): void {
    const { store, clock } = this.#ports;
    const nowMs = clock.monotonicMs();
    const { renewedAtMs, release, local } = known;
    const expired = renewedAtMs === undefined || nowMs - renewedAtMs >= release.authorizationSeconds * 1000;
    if (expired || !local || !store.read((reader) => this.#isKnown(reader, id))) return;
    const { children, waitMs } = local.admit(nowMs);
    known.timer?.stop();
    if (waitMs !== undefined) known.timer = clock.after(waitMs, () => this.#schedule(id, known));
    if (children.length === 0) return;
    const isWritten = ifRoom(() =>
      store.write((t) => {
        for (const child of children) {
          this.#ports.handed.write(t, id, child, release, true);
          t.put(exposureKey(id, child), text(JSON.stringify({ release: release.release })));
          markDirty(t, 'exposure', `${id} ${child}`);
          // Subscribers of the topic run after this callback. They compute the sums again, and read from `exposed` which agents have the release.
          t.afterCommit(() => known.exposed.set(child, release.release));
          t.announce(contributionTopic, atChild(id, child));
        }
      }),
    );
    if (!isWritten) {
      // No agent got the candidate. The rate has counted these agents nevertheless: the rate is an upper bound.
      known.timer?.stop();
      known.timer = clock.after(roomAgainMs, () => this.#schedule(id, known));
    }
  }
}

/** Returns whether the object is made with a Customizer whose candidate differs from its promoted form. */
function usesHeld(reader: Reader, id: PlacementId, what: OutgoingContent): boolean {
  if (what.type !== 'content') return false;
  const { customizers = [] } = attributesOf<ObjectAttributes>(what.content);
  return customizers.some((name) => isHeldCustomizer(reader, id, name));
}

function asPromoted(id: PlacementId, promoted: Promoted | undefined, what: OutgoingContent): OutgoingContent {
  if (!promoted) return what.type === 'content' ? { ...what, madeAsPromoted: id } : what;
  const { content, originRevision } = promoted;
  if (!content) return { type: 'nothing', originRevision };
  return { type: 'content', content, originRevision, madeAsPromoted: id };
}

function refsOf(what: OutgoingContent): readonly string[] {
  return what.type === 'content' ? attributesOf<ObjectAttributes>(what.content).refs : [];
}
