/**
 * The promoted revisions of a placement, at its origin. A revision is one change of the promoted objects: a release that was promoted or, for a placement without
 * waves, the changes that one command sent.
 *
 * The store keeps for each revision only the objects that changed, each with its form before the revision, as a reference to a content. So a revision costs as
 * much as the change, however many objects the placement has. The form of an object at an earlier revision is the form before the first later revision that
 * changed the object; without such a revision, it is the promoted form.
 */
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { contentRecordOf, dropContentReference, readContent, storeContent } from '../../core/feed/content.ts';
import type { Content } from '../../core/feed/feed.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import { asText, concat, hex, prefixRange, text, u48 } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';

export interface Revision {
  /** Grows by one with each revision. No number is used again while the placement exists. */
  readonly number: number;
  /** The placement's uid. A placement that was deleted and created again has no earlier revisions. */
  readonly uid: string;
  /** Time of the first change and of the last change: ms since 1970. */
  readonly atMs: number;
  readonly lastAtMs: number;
  /** The generation of the placement at the last change. */
  readonly generation: number;
  /** The number of the release. Absent: the placement had no waves. */
  readonly release?: number;
  /** The placement's annotation `kubernetes.io/change-cause` at that time. */
  readonly cause?: string;
  /** Number of objects that changed. */
  readonly changes: number;
}

/** The facts about a placement that its revision records. */
export type RevisionFacts = Pick<Revision, 'uid' | 'generation' | 'release' | 'cause'>;

export interface ObjectChange {
  readonly key: ObjectKey;
  /** The form before the revision. Absent: the placement did not have the object. */
  readonly former?: Content;
  readonly formerGeneration?: number;
  /** The generation of the form that was promoted. Absent: the placement lost the object, or the object has no generation. */
  readonly generation?: number;
  /** True: the placement lost the object. */
  readonly isRemoved?: boolean;
}

interface RevisionChange {
  /** Hex. */
  readonly former?: string;
  readonly formerGeneration?: number;
  readonly generation?: number;
  readonly isRemoved?: true;
}

/** `kubectl rollout history` keeps as many by default. */
export const revisionsKept = 10;
/**
 * One command writes its objects one after the other, with pauses well below this time; helm needs the longest ones. A change that comes later is another
 * revision.
 */
const pauseMsMax = 5_000;
/** A revision ends after this time, so that an object which a program adds every second does not make one endless revision. */
const durationMsMax = 60_000;

const nul = Buffer.of(0);
/** The longest `kubernetes.io/change-cause` that is kept: kubectl writes a command line there, which may be very long. */
const causeCharactersMax = 256;

/**
 * Records a change that every destination gets at once. The change belongs to the newest revision if that revision is of the same command: its last change was a
 * moment ago, and it did not change this object before. A command writes each object once.
 */
export function recordChange(
  t: Transaction,
  id: PlacementId,
  facts: RevisionFacts,
  change: ObjectChange,
  nowMs: number,
): void {
  const newest = newestRevision(t, id);
  const isJoined =
    newest !== undefined &&
    newest.uid === facts.uid &&
    newest.release === facts.release &&
    isSoon(newest, nowMs) &&
    t.get(changeKey(id, newest.number, change.key)) === undefined;
  if (isJoined) write(t, id, { ...newest, ...factsOf(facts), lastAtMs: nowMs }, [change]);
  else begin(t, id, newest, facts, [change], nowMs);
}

/** Records a promotion of a release: one revision. Without changes, there is no revision. */
export function recordPromotion(
  t: Transaction,
  id: PlacementId,
  facts: RevisionFacts,
  changes: readonly ObjectChange[],
  nowMs: number,
): void {
  if (changes.length > 0) begin(t, id, newestRevision(t, id), facts, changes, nowMs);
}

export function forgetRevisions(t: Transaction, id: PlacementId): void {
  for (const { number } of revisionsOf(t, id)) drop(t, id, number);
}

/** Returns the revisions that are kept, the oldest first. */
export function revisionsOf(reader: Reader, id: PlacementId): Revision[] {
  const found = reader.scan(prefixRange(concat(prefixOf('revision'), text(id), nul)));
  return [...found].map(([, value]) => JSON.parse(asText(value)) as Revision);
}

function newestRevision(reader: Reader, id: PlacementId): Revision | undefined {
  const range = prefixRange(concat(prefixOf('revision'), text(id), nul));
  for (const [, value] of reader.scan({ ...range, reverse: true, limit: 1 })) return JSON.parse(asText(value));
  return undefined;
}

/** Returns the changes of one revision in the order of their keys, with the former form only if `withForms`. */
export function* changesOf(
  reader: Reader,
  id: PlacementId,
  number: number,
  withForms: boolean,
): Generator<ObjectChange & { readonly isAdded: boolean }> {
  const prefix = changePrefix(id, number);
  for (const [at, value] of reader.scan(prefixRange(prefix))) {
    const { former, ...rest } = JSON.parse(asText(value)) as RevisionChange;
    const content = withForms && former ? { former: readContent(reader, { hash: Buffer.from(former, 'hex') }) } : {};
    yield { key: parseKey(asText(at.subarray(prefix.length))), ...rest, ...content, isAdded: former === undefined };
  }
}

/**
 * Returns the forms that the objects had at a revision, keyed by formatted key, for the objects that changed in later revisions. No content: the placement did
 * not have the object.
 */
export function formsAt(reader: Reader, id: PlacementId, number: number): Map<string, Content | undefined> {
  const forms = new Map<string, Content | undefined>();
  for (const later of revisionsOf(reader, id)) {
    if (later.number <= number) continue;
    for (const { key, former } of changesOf(reader, id, later.number, true)) {
      if (!forms.has(formatKey(key))) forms.set(formatKey(key), former);
    }
  }
  return forms;
}

// ------------------------------------------------------------------------------------------------------ details

function begin(
  t: Transaction,
  id: PlacementId,
  newest: Revision | undefined,
  facts: RevisionFacts,
  changes: readonly ObjectChange[],
  nowMs: number,
): void {
  if (newest && newest.uid !== facts.uid) {
    forgetRevisions(t, id);
    return begin(t, id, undefined, facts, changes, nowMs);
  }
  const number = (newest?.number ?? 0) + 1;
  for (const { number: old } of revisionsOf(t, id)) if (old <= number - revisionsKept) drop(t, id, old);
  write(t, id, { number, uid: facts.uid, ...factsOf(facts), atMs: nowMs, lastAtMs: nowMs, changes: 0 }, changes);
}

function write(t: Transaction, id: PlacementId, revision: Revision, changes: readonly ObjectChange[]): void {
  for (const { key, former, formerGeneration, generation, isRemoved } of changes) {
    const row: RevisionChange = {
      ...(former ? { former: hex(storeContent(t, contentRecordOf(former)).hash) } : {}),
      ...(formerGeneration === undefined ? {} : { formerGeneration }),
      ...(generation === undefined ? {} : { generation }),
      ...(isRemoved ? { isRemoved } : {}),
    };
    t.put(changeKey(id, revision.number, key), text(JSON.stringify(row)));
  }
  const stored: Revision = { ...revision, changes: revision.changes + changes.length };
  t.put(revisionKey(id, revision.number), text(JSON.stringify(stored)));
}

function drop(t: Transaction, id: PlacementId, number: number): void {
  for (const [at, value] of [...t.scan(prefixRange(changePrefix(id, number)))]) {
    const { former } = JSON.parse(asText(value)) as RevisionChange;
    if (former) dropContentReference(t, { hash: Buffer.from(former, 'hex') });
    t.remove(at);
  }
  t.remove(revisionKey(id, number));
}

function factsOf({ generation, release, cause }: RevisionFacts): Omit<RevisionFacts, 'uid'> {
  return {
    generation,
    ...(release === undefined ? {} : { release }),
    ...(cause === undefined ? {} : { cause: cause.slice(0, causeCharactersMax) }),
  };
}

/** After the clock was set back, a change begins a revision of its own. */
function isSoon({ atMs, lastAtMs }: Revision, nowMs: number): boolean {
  const pauseMs = nowMs - lastAtMs;
  return pauseMs >= 0 && pauseMs <= pauseMsMax && nowMs - atMs <= durationMsMax;
}

function revisionKey(id: PlacementId, number: number): Uint8Array {
  return concat(prefixOf('revision'), text(id), nul, u48(number));
}

function changePrefix(id: PlacementId, number: number): Uint8Array {
  return concat(prefixOf('revisionChange'), text(id), nul, u48(number));
}

function changeKey(id: PlacementId, number: number, key: ObjectKey): Uint8Array {
  return concat(changePrefix(id, number), text(formatKey(key)));
}
