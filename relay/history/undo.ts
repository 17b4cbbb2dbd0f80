/**
 * The facts that `banyan history` shows, and the changes that `banyan undo` has to write: the objects of a space that differ from a promoted revision of a placement. This node only
 * reads. The user's program writes the objects, with the user's rights, as any other change.
 */
import type { SpaceStorage } from '../../core/apiserver/storage.ts';
import type { ObjectAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { equalBytes } from '../../core/store/bytes.ts';
import type { Reader } from '../../core/store/store.ts';
import { heldObjects, promotedOf } from '../promoted/held-back.ts';
import { customizerKey, heldCustomizers, promotedCustomizerOf } from '../promoted/held-customizers.ts';
import { changesOf, formsAt, type Revision, revisionsKept, revisionsOf } from './revisions.ts';

export interface HistoryPorts {
  readonly table: Table;
  readonly storage: SpaceStorage;
  /** The part of an object that travels (relay/spaces/payload.ts). */
  payloadOf(object: KubeObject): Uint8Array;
}

/** One object of a revision. `from` and `to` are generations of the object in its space. */
export interface ShownChange {
  readonly key: ObjectKey;
  readonly action: 'added' | 'changed' | 'removed';
  readonly from?: number;
  readonly to?: number;
}

export interface ShownRevision extends Revision {
  /** At most `objectsShownMax`, in the order of their keys. */
  readonly objects: readonly ShownChange[];
}

export interface PlacementHistory {
  readonly placement: string;
  /** The newest revision comes first. */
  readonly revisions: readonly ShownRevision[];
  /** Number of objects of a release that is not promoted yet. */
  readonly held: number;
}

export interface Undo {
  readonly placement: string;
  /** The revision whose content the objects get again. */
  readonly to: number;
  /** The objects to write: the part that travels, as it was at the revision. */
  readonly write: readonly { readonly key: ObjectKey; readonly object: KubeObject }[];
  /** Objects of the space that the placement selects now, and that it did not have at the revision. */
  readonly extra: readonly ObjectKey[];
}

/** A person does not read more objects of one revision. */
const objectsShownMax = 100;

export function historyOf(reader: Reader, id: PlacementId): PlacementHistory {
  const revisions = revisionsOf(reader, id).reverse();
  return {
    placement: splitPlacementId(id).name,
    revisions: revisions.map((revision) => ({ ...revision, objects: shownChanges(reader, id, revision.number) })),
    held: [...heldObjects(reader, id)].length + heldCustomizers(reader, id).length,
  };
}

/**
 * Returns what has to be written so that the placement's objects are as they were at a revision. Without `to`: the newest revision, if objects of an unpromoted
 * release differ from it; otherwise the revision before the newest one. Throws NotFound for a revision that is not kept.
 */
export function undoOf(reader: Reader, ports: HistoryPorts, id: PlacementId, to?: number): Undo {
  const { name } = splitPlacementId(id);
  const kept = revisionsOf(reader, id).map(({ number }) => number);
  const held = heldForms(reader, ports.table, id);
  const number = to ?? defaultOf(name, kept, held.size > 0);
  if (!kept.includes(number)) throw new BanyanError('NotFound', missing(name, number, kept));
  const forms = new Map([...held, ...formsAt(reader, id, number)]);
  const write: { key: ObjectKey; object: KubeObject }[] = [];
  const extra: ObjectKey[] = [];
  for (const [text, form] of forms) {
    const key = parseKey(text);
    const stored = ports.storage.get(key);
    const present = stored && parseBody(stored.body);
    if (!form) {
      if (present && isSelected(reader, ports.table, id, key)) extra.push(key);
    } else if (!present || !equalBytes(ports.payloadOf(present), form.body)) {
      write.push({ key, object: parseBody(form.body) });
    }
  }
  return { placement: name, to: number, write, extra };
}

/** Returns the promoted form of each object whose candidate differs, keyed by formatted key. */
function heldForms(reader: Reader, table: Table, id: PlacementId): Map<string, Content | undefined> {
  const forms = new Map<string, Content | undefined>();
  for (const { keyHash, key } of heldObjects(reader, id)) {
    const entry = parseEntryKey(key);
    if (entry?.type === 'object') forms.set(formatKey(entry.object), promotedOf(reader, table, id, keyHash)?.content);
  }
  for (const name of heldCustomizers(reader, id)) {
    forms.set(formatKey(customizerKey(name)), promotedCustomizerOf(reader, table, id, name)?.content);
  }
  return forms;
}

function defaultOf(name: string, kept: readonly number[], isHeld: boolean): number {
  const number = kept.at(isHeld ? -1 : -2);
  if (number !== undefined) return number;
  const why =
    kept.length === 0
      ? 'nothing was promoted yet'
      : `revision ${kept[0]} is the only one, so there is nothing before it to go back to`;
  throw new BanyanError('NotFound', `EdgePlacement "${name}": ${why}`);
}

function missing(name: string, number: number, kept: readonly number[]): string {
  const remedy =
    kept.length === 0
      ? 'nothing was promoted yet'
      : `name one of ${kept.join(', ')} (a node keeps the last ${revisionsKept} promoted revisions)`;
  return `EdgePlacement "${name}" has no revision ${number}: ${remedy}`;
}

/** False: the placement brings the object only because other objects need it, or another placement selects it. */
function isSelected(reader: Reader, table: Table, id: PlacementId, key: ObjectKey): boolean {
  const { source, name } = splitPlacementId(id);
  return [entryKey.object(source, key), entryKey.auxiliary(source, key)].some((one) => {
    const row = table.get(reader, hash128(one));
    if (!row?.content) return false;
    const { refs, implied = [] } = attributesOf<Partial<ObjectAttributes>>(table.content(reader, row.content));
    return refs?.includes(name) === true && !implied.includes(name);
  });
}

function shownChanges(reader: Reader, id: PlacementId, number: number): ShownChange[] {
  const shown: ShownChange[] = [];
  for (const { key, isAdded, isRemoved, formerGeneration, generation } of changesOf(reader, id, number, false)) {
    if (shown.length >= objectsShownMax) break;
    shown.push({
      key,
      action: isRemoved ? 'removed' : isAdded ? 'added' : 'changed',
      ...(formerGeneration === undefined ? {} : { from: formerGeneration }),
      ...(generation === undefined ? {} : { to: generation }),
    });
  }
  return shown;
}
