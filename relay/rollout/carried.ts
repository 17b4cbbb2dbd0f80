/**
 * Decides which agents have a candidate at this node, from the records that agents carry from other replicas of this node (handed.ts). The decision is made in
 * three cases, because they may occur in any order: an agent reports its record, a placement reaches the agent, or the release arrives.
 */

import type { PlacementId } from '../../core/entries/placement-id.ts';
import { isPromoted } from '../../core/rollout/release.ts';
import { text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Placements } from '../placements/placements.ts';
import { markDirty } from '../work/dirty.ts';
import { exposureKey } from './exposure-rows.ts';
import type { HandedReleases } from './handed.ts';
import type { KnownRelease, KnownReleases } from './known-releases.ts';

export interface CarriedPorts {
  readonly placements: Placements;
  readonly handed: HandedReleases;
  readonly releases: KnownReleases;
}

export class CarriedReleases {
  readonly #ports: CarriedPorts;

  constructor(ports: CarriedPorts) {
    this.#ports = ports;
  }

  /** Call it when an agent reports which release it was handed, by this node or by another replica. */
  reported(t: Transaction, id: PlacementId, child: string): void {
    const { placements, handed } = this.#ports;
    if (!handed.isNews(t, id, child)) return;
    if (placements.get(id)?.children.has(child)) this.attached(t, id, child);
    markDirty(t, 'exposure', `${id} ${child}`);
  }

  /**
   * Call it when a placement reaches an agent. The agent may have reported its record before, when this node did not know the release yet, or did not know that
   * the agent is a destination.
   */
  attached(t: Transaction, id: PlacementId, child: string): void {
    const { handed, releases } = this.#ports;
    const release = handed.isCarried ? releases.known(t, id) : undefined;
    if (release) this.#adopt(t, id, release, child);
  }

  /**
   * Call it when a release has arrived. Agents to which another replica has handed the release have it. If the release is promoted, all agents must get it. The
   * records are written before the objects.
   */
  released(t: Transaction, id: PlacementId, known: KnownRelease): void {
    const { placements, handed } = this.#ports;
    if (!handed.isCarried) return;
    for (const child of placements.get(id)?.children ?? []) {
      if (isPromoted(known.release)) handed.write(t, id, child, known.release, true);
      this.#adopt(t, id, known, child);
    }
  }

  /** Returns a message that says why this node can't send anything yet to an agent that comes from another replica; undefined if it can. */
  behind(reader: Reader, child: string): string | undefined {
    const { handed, releases } = this.#ports;
    for (const id of this.#stagedOf(child)) {
      const release = releases.isWhole(reader, id) ? releases.get(id)?.release : undefined;
      const reason = handed.isBehind(reader, id, child, release);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /**
   * Call it when the store was restored, and this node has received everything from above again. Agents may have newer forms of held-back objects than this
   * store knows, so these objects are sent again.
   */
  shipAgain(t: Transaction, child: string): void {
    for (const id of this.#stagedOf(child)) markDirty(t, 'exposure', `${id} ${child}`);
  }

  #stagedOf(child: string): PlacementId[] {
    const { placements } = this.#ports;
    return [...placements.ofChild(child)].filter((id) => placements.get(id)?.staged);
  }

  #adopt(t: Transaction, id: PlacementId, { release, exposed }: KnownRelease, child: string): void {
    const { handed } = this.#ports;
    if (exposed.get(child) === release.release || !handed.hasIt(t, id, child, release)) return;
    handed.write(t, id, child, release, true);
    t.put(exposureKey(id, child), text(JSON.stringify({ release: release.release })));
    exposed.set(child, release.release);
    markDirty(t, 'exposure', `${id} ${child}`);
  }
}
