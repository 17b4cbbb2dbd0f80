/**
 * What a node knows of the releases of its staged placements: the release row as it was read last, whether all rows that it speaks of are here (digest.ts),
 * and which agents have the candidate. In memory, made again at a start from the rows and from what was handed out.
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
import { digestsOf } from '../promoted/digest.ts';
import { isDirty } from '../work/dirty.ts';
import { readRelease } from './baseline.ts';
import { storedExposures } from './exposure-rows.ts';

export interface KnownRelease {
  release: ReleaseAttributes;
  /** Monotonic, less what the row was old by then; undefined: nothing has renewed the authorisation since the start of this process. */
  renewedAtMs: number | undefined;
  /** Release that was handed to each child. */
  readonly exposed: Map<string, number>;
  local: LocalRelease | undefined;
  timer: Timer | undefined;
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

  /** Reads the release row; `nowMs`: monotonic, when its word was new, if that is known. */
  learn(reader: Reader, id: PlacementId, nowMs: number | undefined): KnownRelease | undefined {
    const { source } = splitPlacementId(id);
    const table = this.#ports.tableOf(source);
    const release = table && readRelease(reader, table, id);
    const before = this.#known.get(id);
    before?.timer?.stop();
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
      scheduled: false,
    };
    this.#known.set(id, known);
    return known;
  }

  /** Objects are looked at before placements: one whose own row has just come may be staged by it. */
  isStaged(reader: Reader, id: PlacementId): boolean {
    const known = this.#ports.placements.get(id);
    if (known?.staged || !isDirty(reader, 'placement', id)) return known?.staged === true;
    const table = this.#ports.tableOf(splitPlacementId(id).source);
    const row = table?.get(reader, hash128(entryKey.placement(id)));
    if (!table || !row?.content) return false;
    const { spec } = parseBody(table.content(reader, row.content).body);
    return isStaged((spec as { readonly rollout?: RolloutSpec } | undefined)?.rollout);
  }

  /** All rows that the release row speaks of are here, and no others. */
  isWhole(reader: Reader, id: PlacementId): boolean {
    const known = this.known(reader, id);
    const has = digestsOf(reader, id);
    if (!known || !has) return false;
    const { digest, customizerDigest } = known.release;
    return digest === has.digest && customizerDigest === has.customizerDigest;
  }

  /** Its release row may have come in the last life of this process, and the placement, of which nothing was known at the start, in this one. */
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

/** Only what goes on growing while nothing is decided. */
export function isRenewal(a: ReleaseAttributes, b: ReleaseAttributes): boolean {
  const rest = (release: ReleaseAttributes) => stableStringify({ ...release, lease: 0, expected: 0 });
  return rest(a) === rest(b);
}
