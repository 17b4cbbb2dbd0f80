/**
 * What agents that were elsewhere bring with them of releases (handed.ts), as far as it decides who has a candidate here: looked at when an agent says it, when a
 * placement comes to the agent, and when its release comes, since these come in any order.
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

  /** An agent says what it was handed: here, or by a sibling of this node. */
  said(t: Transaction, id: PlacementId, child: string): void {
    const { placements, handed } = this.#ports;
    if (!handed.isNews(t, id, child)) return;
    if (placements.get(id)?.children.has(child)) this.attached(t, id, child);
    markDirty(t, 'exposure', `${id} ${child}`);
  }

  /** A placement comes to an agent, which may have said before what it was handed of it: nobody knew of the release then, or that the agent is a destination. */
  attached(t: Transaction, id: PlacementId, child: string): void {
    const { handed, releases } = this.#ports;
    const known = handed.isCarried ? releases.known(t, id) : undefined;
    if (known) this.#adopt(t, id, known, child);
  }

  /** A release has come: those have it to whom a sibling has handed it, and when it is promoted all are to have it. Told before the objects. */
  released(t: Transaction, id: PlacementId, known: KnownRelease): void {
    const { placements, handed } = this.#ports;
    if (!handed.isCarried) return;
    for (const child of placements.get(id)?.children ?? []) {
      if (isPromoted(known.release)) handed.tell(t, id, child, known.release, true);
      this.#adopt(t, id, known, child);
    }
  }

  /** In words, why an agent that comes from a sibling can't be told anything yet. */
  behind(reader: Reader, child: string): string | undefined {
    const { handed, releases } = this.#ports;
    for (const id of this.#stagedOf(child)) {
      const release = releases.isWhole(reader, id) ? releases.get(id)?.release : undefined;
      const reason = handed.isBehind(reader, id, child, release);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /** The store was put back, and knows all that is above again: agents may have more of what was held back than it knows. */
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
    handed.tell(t, id, child, release, true);
    t.put(exposureKey(id, child), text(JSON.stringify({ release: release.release })));
    exposed.set(child, release.release);
    markDirty(t, 'exposure', `${id} ${child}`);
  }
}
