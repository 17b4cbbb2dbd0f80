/**
 * The releases of staged placements, as far as a node knows them: the release row as it was last read, whether the node has all rows of the release
 * (relay/promoted/digest.ts), and which agents have the candidate. All of this is in memory. A start reads it from the rows and from the record of exposed
 * agents.
 */

import { entryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { Table } from '../../core/feed/feed.ts';
import { parseBody, stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { LocalRelease } from '../../core/rollout/local.ts';
import { isPromoted, type ReleaseAttributes } from '../../core/rollout/release.ts';
import { isStaged, type RolloutSpec } from '../../core/rollout/spec.ts';
import type { Timer } from '../../core/runtime/clock.ts';
import type { Reader } from '../../core/store/store.ts';
import type { Placements } from '../placements/placements.ts';
import { digestOf } from '../promoted/digest.ts';
import { isDirty } from '../work/dirty.ts';
import { readRelease } from './baseline.ts';
import { storedExposures } from './exposure-rows.ts';

export interface KnownRelease {
  release: ReleaseAttributes;
  /**
   * The monotonic time at which the row was new: its arrival, less its age at the arrival. Undefined: no row has renewed the authorisation since this process
   * started.
   */
  renewedAtMs: number | undefined;
  /** Keyed by child: the release that was handed to the child. */
  readonly exposed: Map<string, number>;
  local: LocalRelease | undefined;
  timer: Timer | undefined;
  /** Runs when the authorisation expires. */
  expiry: Timer | undefined;
  scheduled: boolean;
}

interface KnownReleasesPorts {
  readonly placements: Placements;
  tableOf(source: string): Table | undefined;
}

export class KnownReleases {
  readonly #ports: KnownReleasesPorts;
  readonly #known = new Map<PlacementId, KnownRelease>();

  constructor(ports: KnownReleasesPorts) {
    this.#ports = ports;
  }

  get(id: PlacementId): KnownRelease | undefined {
    return this.#known.get(id);
  }

  all(): Iterable<KnownRelease> {
    return this.#known.values();
  }

  /** Reads the release row. `nowMs` is the monotonic time at which the row was new. Undefined: the time is not known. */
  learn(reader: Reader, id: PlacementId, nowMs: number | undefined): KnownRelease | undefined {
    const { source } = splitPlacementId(id);
    const table = this.#ports.tableOf(source);
    const release = table && readRelease(reader, table, id);
    const before = this.#known.get(id);
    before?.timer?.stop();
    before?.expiry?.stop();
    if (!release) {
      this.#known.delete(id);
      return undefined;
    }
    const isNew = before?.release.lease !== release.lease || before.release.release !== release.release;
    const known: KnownRelease = {
      release,
      renewedAtMs: isNew ? nowMs : before.renewedAtMs,
      exposed: before?.exposed ?? storedExposures(reader, id),
      local: before && isRenewal(before.release, release) ? before.local : undefined,
      timer: undefined,
      expiry: undefined,
      scheduled: false,
    };
    this.#known.set(id, known);
    return known;
  }

  /**
   * Returns whether the placement is staged. Objects are processed before placements, so if the row of the placement waits to be processed, that row decides.
   */
  isStaged(reader: Reader, id: PlacementId): boolean {
    const placement = this.#ports.placements.get(id);
    if (placement?.staged || !isDirty(reader, 'placement', id)) return placement?.staged === true;
    const table = this.#ports.tableOf(splitPlacementId(id).source);
    const row = table?.get(reader, hash128(entryKey.placement(id)));
    if (!table || !row?.content) return false;
    const { spec } = parseBody(table.content(reader, row.content).body);
    return isStaged((spec as { readonly rollout?: RolloutSpec } | undefined)?.rollout);
  }

  /** Returns whether this node has exactly the rows that the release row covers. */
  isWhole(reader: Reader, id: PlacementId): boolean {
    const known = this.known(reader, id);
    return known !== undefined && known.release.digest === digestOf(reader, id);
  }

  /** Returns the release; reads the row if it is not in memory. The row may have arrived before this process started, and the placement only afterwards. */
  known(reader: Reader, id: PlacementId): KnownRelease | undefined {
    const known = this.#known.get(id);
    if (known || isDirty(reader, 'auxiliary', entryKey.release(id))) return known;
    return this.learn(reader, id, undefined);
  }

  hasCandidate(id: PlacementId, child: string): boolean {
    const known = this.#known.get(id);
    if (!known) return false;
    return isPromoted(known.release) || known.exposed.get(child) === known.release.release;
  }
}

/** Returns true if the rows differ only in values that grow without a decision. */
export function isRenewal(a: ReleaseAttributes, b: ReleaseAttributes): boolean {
  const rest = (release: ReleaseAttributes) => stableStringify({ ...release, lease: 0, expected: 0 });
  return rest(a) === rest(b);
}
