/**
 * The last hop of a release: which of this node's agents have the candidate and which what was promoted. Decided here alone, within what the release row
 * authorises (core/rollout/local.ts), and durable: an agent that has it keeps it over restarts of this node.
 *
 * What is not known is not handed out. An agent's mailbox stays as it is while the release row is missing or speaks of other rows than are here
 * (digest.ts): they come in any order. What is kept back for that is remembered, and looked at again when more is known.
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
import { ensureDigests, forgetDigests } from '../promoted/digest.ts';
import { holders, type Promoted, promotedOf } from '../promoted/held-back.ts';
import { isHeldCustomizer } from '../promoted/held-customizers.ts';
import type { OutgoingContent, OutgoingStage, Shipment } from '../schedule/outgoing.ts';
import { isDirty, markDirty } from '../work/dirty.ts';
import { atChild, contributionTopic } from '../work/topics.ts';
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
  /** By which a destination has its position: the same at all siblings, whose inventories have objects of their own. */
  pathOf(child: string): string;
  /** What agents carry from one sibling of this node to another. */
  readonly handed: HandedReleases;
  /** How old what comes from this source can be when it comes (core/rollout/authority.ts). */
  authorizationAgeMs(source: string): number;
  /** Calls back soon, after what waits already. */
  defer(run: () => void): void;
}

export class Exposures implements OutgoingStage {
  readonly #ports: ExposurePorts;
  readonly #releases: KnownReleases;
  /** What agents bring from elsewhere. */
  readonly carried: CarriedReleases;
  /** Placements of which rows are kept back because too little is known: those of the store. */
  readonly #withholding = new Set<PlacementId>();
  /** Placements whose release row had changed when the last process ended, and nothing had been done of it: what is known now hides what was before. */
  readonly #unfinished = new Set<PlacementId>();
  #stopped = false;

  constructor(ports: ExposurePorts) {
    this.#ports = ports;
    this.#releases = new KnownReleases(ports);
    this.carried = new CarriedReleases({ ...ports, releases: this.#releases });
  }

  /** At start, when the placements are known. */
  load(reader: Reader): void {
    // Of those too whose own row, which stages them, has yet to come: their release row may not change again.
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
    for (const { timer } of this.#releases.all()) timer?.stop();
  }

  // ---------------------------------------------------------------------------------------------- what has changed

  /** A release row has come, changed or gone, or what was promoted of an object; true if children may stand elsewhere now. */
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
    if (after && table) ensureDigests(t, table, id);
    else forgetDigests(t, id);
    const isUnfinished = this.#unfinished.delete(id);
    if (before && after && !isUnfinished && isRenewal(before.release, after.release)) {
      before.local?.renew(after.release);
      this.#schedule(id, after);
      return false;
    }
    this.#handOver(t, id, before, after);
    if (after) this.carried.released(t, id, after);
    return true;
  }

  /** Called when the rows that were dirty have been looked at: what was kept back from agents of placements that are known now. */
  release(t: Transaction): boolean {
    let some = false;
    for (const id of this.#withholding) {
      if (this.#ports.placements.get(id)?.staged && !this.#releases.isWhole(t, id)) continue;
      this.#withholding.delete(id);
      for (const key of withheldRows(t, id)) {
        if (key === entryKey.target(id)) markDirty(t, 'target', id);
        else markDirty(t, 'row', key, [splitPlacementId(id).name]);
        t.remove(withheldKey(id, key));
        some = true;
      }
    }
    return some;
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

  /** Another release, wave or end of it. */
  #handOver(t: Transaction, id: PlacementId, before: KnownRelease | undefined, after: KnownRelease | undefined): void {
    // Neither is there when the row has gone and this process has not seen it.
    const exposed = (after ?? before)?.exposed ?? storedExposures(t, id);
    for (const [child, release] of [...exposed]) {
      if (after && !isPromoted(after.release) && release === after.release.release) continue;
      // It goes back to what was promoted, unless that is what it has.
      markDirty(t, 'exposure', `${id} ${child}`);
      t.remove(exposureKey(id, child));
      after?.exposed.delete(child);
    }
    markDirty(t, 'target', id);
  }

  // ------------------------------------------------------------------------------------------------- what is shipped

  outgoing(t: Transaction, shipment: Shipment, what: OutgoingContent): OutgoingContent {
    if (what.type === 'keep' || what.type === 'later') return what;
    const { child, source, keyHash, changed } = shipment;
    const { placements, tableOf } = this.#ports;
    const wanting = refsOf(what).map((name) => placementId(source, name));
    // An object that has just gone may be one whose promoted content has yet to come, or has come with what stages its placement.
    const gone = what.type === 'nothing' && changed ? changed.refs.map((name) => placementId(source, name)) : [];
    const isStaged = (id: PlacementId) => this.#releases.isStaged(t, id);
    if (placements.staged().size === 0 && !wanting.some(isStaged) && !gone.some(isStaged)) return what;
    const reaching = (id: PlacementId) => placements.get(id)?.children.has(child.name) ?? false;
    // Whoever brings it there without stages brings it as it is.
    if (wanting.some((id) => reaching(id) && !isStaged(id))) return what;
    const table = tableOf(source);
    if (!table) return what;
    let held: OutgoingContent | undefined;
    /** Of an object that the candidate does not have. */
    let heldKey: string | undefined;
    const unknown: PlacementId[] = [];
    // In order of name, so that of two that hold back the same object one is chosen, the same each time.
    for (const id of [...new Set([...wanting, ...gone, ...holders(t, keyHash)])].sort()) {
      if (!isStaged(id) || !reaching(id)) continue;
      const promoted = promotedOf(t, table, id, keyHash);
      const wants = wanting.includes(id);
      const wanted = wants || promoted?.content !== undefined;
      if ((wanted || (gone.includes(id) && this.#releases.get(id) !== undefined)) && !this.#releases.isWhole(t, id)) {
        heldKey ??= promoted?.content?.key;
        unknown.push(id);
        continue;
      }
      if (!promoted && !wants) continue;
      if (this.#releases.hasCandidate(id, child.name)) return what;
      if (!promoted && !usesHeld(t, id, what)) return what;
      held ??= this.#ports.handed.notOlder(
        t,
        { id, child: child.name, release: this.#releases.get(id)?.release },
        { keyHash, row: table.get(t, keyHash) },
        asPromoted(id, promoted, what),
      );
    }
    const key = what.type === 'content' ? what.content.key : (changed?.key ?? heldKey);
    if (unknown.length > 0 && key !== undefined) {
      for (const id of unknown) this.#withhold(t, id, key);
      return { type: 'keep' };
    }
    return held ?? what;
  }

  /** What an agent is told that its reports are to be exact for; undefined: nothing yet, and what it was told stays. */
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
    this.#ports.handed.tell(t, placement.id, child, release, handed);
    return handed ? target : { ...target, target: release.promotedTarget };
  }

  /** What a node below the origin knows of a release: told in the status that it shows of the placement. */
  below(reader: Reader, id: PlacementId): RolloutStatus | undefined {
    const known = this.#ports.placements.get(id)?.staged && this.#releases.get(id);
    if (!known) return undefined;
    const { release, renewedAtMs } = known;
    const ageMs = renewedAtMs === undefined ? undefined : this.#ports.clock.monotonicMs() - renewedAtMs;
    return rolloutBelow(release, { isWhole: this.#releases.isWhole(reader, id), exposed: known.exposed.size, ageMs });
  }

  /** What counts are of. Whoever has a release that was taken back is on its way to what was promoted. */
  wanted(placement: Placement): PlacementTarget | undefined {
    const { target } = placement;
    const release = placement.staged && this.#releases.get(placement.id)?.release;
    return target && release?.rolledBack ? { ...target, target: release.promotedTarget } : target;
  }

  /** The last release was taken back, and nothing has been changed since. */
  isRolledBack(id: PlacementId): boolean {
    return this.#ports.placements.get(id)?.staged === true && this.#releases.get(id)?.release.rolledBack === true;
  }

  // ---------------------------------------------------------------------------------------------- what is reported

  /** What one child adds to the node's part of an unfinished release. */
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
      return { ...emptyPart(release.release, 0), heard: notReceived };
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

  /** What a node says of a release beside what its children do: that it has heard of it, and whom its own budget bars. */
  base(id: PlacementId): RolloutPart | undefined {
    const known = this.#ports.placements.get(id)?.staged && this.#releases.get(id);
    if (!known || isPromoted(known.release)) return undefined;
    return known.local?.own() ?? emptyPart(known.release.release, 0);
  }

  // ------------------------------------------------------------------------------------------------------ who is next

  #schedule(id: PlacementId, known: KnownRelease): void {
    if (known.scheduled || !known.local || known.local.waiting === 0) return;
    known.scheduled = true;
    this.#ports.defer(() => {
      known.scheduled = false;
      // Another release row has come meanwhile, and with it another one of these.
      if (!this.#stopped && this.#releases.get(id) === known) this.#admit(id, known);
    });
  }

  /** All of it is here, and no other word of it that has yet to be looked at. */
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
          this.#ports.handed.tell(t, id, child, release, true);
          t.put(exposureKey(id, child), text(JSON.stringify({ release: release.release })));
          markDirty(t, 'exposure', `${id} ${child}`);
          // Before the sums are made anew: they read who has the release.
          t.afterCommit(() => known.exposed.set(child, release.release));
          t.announce(contributionTopic, atChild(id, child));
        }
      }),
    );
    if (!isWritten) {
      // Nobody got it. What the rate had left is used up: it is a bound from above.
      known.timer?.stop();
      known.timer = clock.after(roomAgainMs, () => this.#schedule(id, known));
    }
  }
}

/** Made with a Customizer of which the release has another form than what was promoted. */
function usesHeld(reader: Reader, id: PlacementId, what: OutgoingContent): boolean {
  if (what.type !== 'content') return false;
  const { customizers = [] } = attributesOf<ObjectAttributes>(what.content);
  return customizers.some((called) => isHeldCustomizer(reader, id, called));
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
