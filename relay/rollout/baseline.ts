/**
 * Runs at the origin, in the transaction of the selection. It keeps the promoted form of each object beside the candidate, and writes into the release row what
 * the last hops may do. The work grows with the change: one changed object, one `q/` row.
 */
import type { EdgePlacementSpec } from '../../core/apiserver/kinds/edge-placement.ts';
import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { type ReleaseAttributes, releaseOf } from '../../core/rollout/release.ts';
import { gateConditionsOf, isStaged, type RolloutSpec } from '../../core/rollout/spec.ts';
import { contentChanged, initialState, type RolloutState, specChanged, targetMoved } from '../../core/rollout/state.ts';
import { asText, concat, readU48, text, u48 } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { forgetRevisions, type RevisionFacts, recordChange, recordPromotion } from '../history/revisions.ts';
import { ensureDigest, forgetDigest } from '../promoted/digest.ts';
import { heldObjects, type Promoted, promotedOf, promotedRow } from '../promoted/held-back.ts';
import {
  customizerKey,
  customizerName,
  heldCustomizers,
  promotedCustomizerOf,
  promotedCustomizerRow,
} from '../promoted/held-customizers.ts';
import { changeOf, forPlacement, isSame, isSameBody, ownForm, refsOf } from './forms.ts';

export interface BaselinePorts {
  readonly source: string;
  readonly table: Table;
  /** `put` and `drop` write rows of the source's table, and announce the change. */
  put(t: Transaction, content: Content, originRevision: number): boolean;
  drop(t: Transaction, key: string, originRevision: number): boolean;
  wallMs(): number;
  /** Returns the facts about the placement for its next revision. Undefined: the space has no such placement any more. */
  factsOf(name: string): RevisionFacts | undefined;
}

/** A placement with a staged rollout, as it was when it was last read. */
export interface StagedPlacement {
  readonly uid: string;
  readonly generation: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly rollout: RolloutSpec;
}

export class Baseline {
  readonly #ports: BaselinePorts;
  readonly #staged = new Map<string, StagedPlacement>();

  constructor(ports: BaselinePorts) {
    this.#ports = ports;
  }

  staged(name: string): StagedPlacement | undefined {
    return this.#staged.get(name);
  }

  names(): IterableIterator<string> {
    return this.#staged.keys();
  }

  /** Called at the start, and for each change of a placement. */
  learn(object: KubeObject): void {
    const { name = '', uid = '', generation = 0, annotations = {} } = object.metadata;
    const { rollout } = (object.spec ?? {}) as Partial<EdgePlacementSpec>;
    if (isStaged(rollout)) this.#staged.set(name, { uid, generation, annotations, rollout });
    else this.#staged.delete(name);
  }

  /** Call it when the placement was written and `learn` has read it, or when it was removed. */
  placementChanged(t: Transaction, name: string, revision: number): void {
    const id = this.#id(name);
    const staged = this.#staged.get(name);
    const state = readState(t, id);
    if (!staged) {
      if (state) this.#forget(t, id, state, revision);
      return;
    }
    const next = state
      ? specChanged(state, staged.generation, planOf(staged), this.#ports.wallMs(), revision)
      : this.#initial(t, id, staged, revision);
    this.write(t, name, next);
  }

  gone(t: Transaction, name: string, revision: number): void {
    this.#staged.delete(name);
    this.placementChanged(t, name, revision);
    t.remove(lastReleaseKey(this.#id(name)));
    forgetRevisions(t, this.#id(name));
  }

  /** Call it when the row of an object has changed from `before` to `after`. */
  objectChanged(t: Transaction, key: ObjectKey, before: Promoted, after: Content | undefined, revision: number): void {
    for (const name of new Set([...refsOf(before.content), ...refsOf(after)])) {
      const staged = this.#staged.get(name);
      if (staged) this.#compare(t, name, staged, key, before, after, revision);
      else this.#record(t, name, key, before.content, after);
    }
  }

  /** Call it when the row of a Customizer has changed from `before` to `after`. */
  customizerChanged(
    t: Transaction,
    key: ObjectKey,
    before: Promoted,
    after: Content | undefined,
    revision: number,
  ): void {
    for (const name of new Set([...refsOf(before.content), ...refsOf(after)])) {
      const staged = this.#staged.get(name);
      if (staged) this.#compareCustomizer(t, name, staged, key, before, after, revision);
      else this.#record(t, name, key, before.content, after);
    }
  }

  /** Records the change of an object that every destination of a placement without waves gets at once. */
  #record(t: Transaction, name: string, key: ObjectKey, before: Content | undefined, after: Content | undefined): void {
    const change = changeOf(key, ownForm(before, name), ownForm(after, name), name);
    const facts = change && this.#ports.factsOf(name);
    if (facts) recordChange(t, this.#id(name), facts, change, this.#ports.wallMs());
  }

  /** Records the promotion of everything that is held back now. */
  #recordPromotion(t: Transaction, id: PlacementId, release: number): void {
    const { table, factsOf, wallMs } = this.#ports;
    const { name, source } = splitPlacementId(id);
    const facts = factsOf(name);
    if (!facts) return;
    const present = (key: string) => {
      const row = table.get(t, hash128(key));
      return row?.content && ownForm(table.content(t, row.content), name);
    };
    const objects = [...heldObjects(t, id)].map(({ keyHash, key }) => {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'object') throw new Error(`${key} is held back and no object`);
      return changeOf(entry.object, ownForm(promotedOf(t, table, id, keyHash)?.content, name), present(key), name);
    });
    const customizers = heldCustomizers(t, id).map((one) => {
      const key = customizerKey(one);
      const former = promotedCustomizerOf(t, table, id, one)?.content;
      return changeOf(key, former, present(entryKey.auxiliary(source, key)), name);
    });
    const changes = [...objects, ...customizers].filter((one) => one !== undefined);
    recordPromotion(t, id, { ...facts, release }, changes, wallMs());
  }

  #compareCustomizer(
    t: Transaction,
    name: string,
    staged: StagedPlacement,
    key: ObjectKey,
    before: Promoted,
    after: Content | undefined,
    revision: number,
  ): void {
    const { table, put, drop } = this.#ports;
    const id = this.#id(name);
    const state = readState(t, id) ?? this.#initial(t, id, staged, revision);
    const former = forPlacement(before.content, name);
    const present = forPlacement(after, name);
    if (isSameBody(former, present)) return;
    const promoted = promotedCustomizerOf(t, table, id, customizerName(key));
    let { held } = state;
    if (promoted && isSameBody(promoted.content, present)) {
      held -= Number(drop(t, entryKey.promotedCustomizer(id, key), revision));
    } else if (!promoted) {
      const { originRevision } = before;
      held += Number(
        put(t, promotedCustomizerRow(id, key, { ...(former ? { content: former } : {}), originRevision }), revision),
      );
    }
    this.write(t, name, contentChanged(state, held, revision, this.#ports.wallMs()));
  }

  #initial(reader: Reader, id: PlacementId, staged: StagedPlacement, revision: number): RolloutState {
    const last = reader.get(lastReleaseKey(id));
    const release = last ? readU48(last) : 0;
    return initialState(staged.generation, planOf(staged), this.#ports.wallMs(), { revision, release });
  }

  #compare(
    t: Transaction,
    name: string,
    staged: StagedPlacement,
    key: ObjectKey,
    before: Promoted,
    after: Content | undefined,
    revision: number,
  ): void {
    const { table, put, drop } = this.#ports;
    const id = this.#id(name);
    // After a start, an object may be processed before the placement that makes it staged. Then there is no state yet.
    const state = readState(t, id) ?? this.#initial(t, id, staged, revision);
    const former = forPlacement(before.content, name);
    const present = forPlacement(after, name);
    if (isSame(former, present, name)) return;
    const row = promotedRow(id, key, { ...(former ? { content: former } : {}), originRevision: before.originRevision });
    const entryHash = hash128(after?.key ?? before.content?.key ?? '');
    const promoted = promotedOf(t, table, id, entryHash);
    let { held } = state;
    if (promoted && isSame(promoted.content, present, name))
      held -= Number(drop(t, entryKey.promoted(id, key), revision));
    else if (!promoted) held += Number(put(t, row, revision));
    this.write(t, name, contentChanged(state, held, revision, this.#ports.wallMs()));
  }

  targetMoved(t: Transaction, name: string, target: number): void {
    if (!this.#staged.has(name)) return;
    const state = readState(t, this.#id(name));
    if (state) this.write(t, name, targetMoved(state, target));
  }

  /** Stores the state, and writes the release row for the last hops. */
  write(t: Transaction, name: string, state: RolloutState, expected?: number): void {
    const staged = this.#staged.get(name);
    if (!staged) return;
    const id = this.#id(name);
    const before = this.release(t, name);
    const digest = ensureDigest(t, this.#ports.table, id);
    const release = releaseOf(name, staged.uid, staged.rollout, state, expected ?? before?.expected ?? 0, digest);
    t.put(stateKey(id), text(JSON.stringify(state)));
    const row = this.#ports.table.get(t, hash128(entryKey.release(id)));
    const revision = Math.max(state.target, row?.originRevision ?? 0);
    const attributes = text(stableStringify(release));
    this.#ports.put(t, { key: entryKey.release(id), attributes, body: new Uint8Array(0) }, revision);
  }

  /** Gives the candidate to every destination: removes the promoted forms that are kept beside it. */
  promote(t: Transaction, name: string, state: RolloutState, expected: number): void {
    const id = this.#id(name);
    this.#recordPromotion(t, id, state.release);
    this.#dropHeld(t, id, state.target);
    this.write(t, name, state, expected);
  }

  state(reader: Reader, name: string): RolloutState | undefined {
    return readState(reader, this.#id(name));
  }

  release(reader: Reader, name: string): ReleaseAttributes | undefined {
    return readRelease(reader, this.#ports.table, this.#id(name));
  }

  #forget(t: Transaction, id: PlacementId, { release }: RolloutState, revision: number): void {
    t.put(lastReleaseKey(id), u48(release));
    this.#recordPromotion(t, id, release);
    this.#dropHeld(t, id, revision);
    this.#ports.drop(t, entryKey.release(id), revision);
    forgetDigest(t, id);
    t.remove(stateKey(id));
  }

  #dropHeld(t: Transaction, id: PlacementId, revision: number): void {
    for (const { key } of [...heldObjects(t, id)]) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'object') this.#ports.drop(t, entryKey.promoted(id, entry.object), revision);
    }
    for (const name of heldCustomizers(t, id)) {
      this.#ports.drop(t, entryKey.promotedCustomizer(id, customizerKey(name)), revision);
    }
  }

  #id(name: string): PlacementId {
    return placementId(this.#ports.source, name);
  }
}

/** Returns the release row of a placement from the table of its source, at the origin or at a node below. */
export function readRelease(reader: Reader, table: Table, id: PlacementId): ReleaseAttributes | undefined {
  const row = table.get(reader, hash128(entryKey.release(id)));
  if (!row?.content) return undefined;
  const { attributes } = table.content(reader, row.content);
  const release = JSON.parse(asText(attributes)) as ReleaseAttributes;
  return release.refs.includes(splitPlacementId(id).name) ? release : undefined;
}

function readState(reader: Reader, id: PlacementId): RolloutState | undefined {
  const bytes = reader.get(stateKey(id));
  if (!bytes) return undefined;
  return JSON.parse(asText(bytes)) as RolloutState;
}

function planOf({ rollout }: StagedPlacement): string {
  return stableStringify(gateConditionsOf(rollout));
}

function stateKey(id: PlacementId): Uint8Array {
  return concat(prefixOf('rollout'), text(id));
}

function lastReleaseKey(id: PlacementId): Uint8Array {
  return concat(prefixOf('lastRelease'), text(id));
}
