/**
 * The pages of a list: which objects one page has, and the token by which the next page goes on. Where no rule forbids this, the end of a page is found without
 * reading an object.
 */
import { BanyanError } from '../../runtime/errors.ts';
import { storedResource } from '../space.ts';
import { Snapshot } from '../storage/snapshot.ts';
import type { StoredObject } from '../storage.ts';
import { inVersion } from '../verbs/object-form.ts';
import { type Effort, type ListRequest, pause, placeIn, selectsStored, showsContent } from './list-request.ts';

interface Place {
  readonly namespace: string;
  readonly name: string;
}

interface Continue extends Place {
  /** The revision of the first page. All pages of the list show this revision. -1: the list goes on at the newest revision. */
  readonly revision: number;
  /** The time of the first page, in milliseconds since 1970. */
  readonly atMs: number;
  /** Number of objects behind the place, at the revision of the first page. Absent: unknown. */
  readonly remaining?: number | undefined;
}

/** A list can go on for this time, as at a Kubernetes API server, whose etcd forgets old revisions after five minutes. */
const listMsMax = 5 * 60_000;

/** The message of the Kubernetes API server. */
const compacted =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

/** Bytes of objects that a list keeps from its first look. Most lists with a first look are smaller, so they read the store only once. */
const heldBytesMax = 256 * 1024;

export interface Page {
  /** The first objects, if the list has read them already. */
  readonly held: readonly StoredObject[];
  /** The other objects are the selected ones behind this place. Undefined: from the beginning. */
  readonly after: Place | undefined;
  /** Number of objects, at most. */
  readonly objects: number;
  /** The token of the next page. */
  readonly next?: string;
  readonly remaining?: number;
}

interface Paging {
  /** 0: no limit. */
  readonly limit: number;
  readonly from: Continue | undefined;
  readonly effort: Effort;
}

/** Throws Expired, with a token to go on at the newest revision, if the list is too old or too much has changed since its first page. */
export function snapshotFor(listing: ListRequest, from: Continue | undefined): Snapshot {
  const { storage } = listing.space;
  const of = storedResource(listing.kind);
  if (from === undefined) return firstSnapshot(listing);
  if (from.revision < 0) return new Snapshot(storage, of);
  try {
    if (listing.nowMs - from.atMs <= listMsMax) return new Snapshot(storage, of, from.revision);
    // The pages from now on belong to another list, and clients tell lists apart by their revisions.
    storage.skipRevision?.();
  } catch (error) {
    if (!isExpired(error)) throw error;
  }
  const continueToken = encodeToken({ ...from, revision: -1, remaining: undefined });
  throw new BanyanError('Expired', compacted, { continueToken });
}

function firstSnapshot({ space: { storage }, kind, revision }: ListRequest): Snapshot {
  try {
    return new Snapshot(storage, storedResource(kind), revision);
  } catch (error) {
    if (!isExpired(error)) throw error;
    throw new BanyanError('Expired', 'The resourceVersion for the provided list is too old.', {}, { cause: error });
  }
}

function isExpired(error: unknown): boolean {
  return error instanceof BanyanError && error.code === 'Expired';
}

export function* pageOf(listing: ListRequest, snapshot: Snapshot, paging: Paging): Generator<Buffer, Page> {
  const { space, kind, selection } = listing;
  const { limit, from } = paging;
  // A mistake must be found before the first byte is sent. Later, the server could only break off the answer, without a reason.
  const mayFail = (kind.storesAsWritten && showsContent(listing)) || selection.readsContent;
  if (!mayFail && limit === 0) return { held: [], after: from, objects: Number.POSITIVE_INFINITY };
  if (mayFail || !selection.isEmpty || !snapshot.isUnchanged) return yield* lookedAt(listing, snapshot, paging);
  const options = { ...placeIn(listing), ...(from ? { after: from } : {}), limit };
  const last = space.storage.pageEnd(storedResource(kind), options);
  return { held: [], after: from, objects: limit, ...(last ? behind(listing, snapshot, paging, last) : {}) };
}

/** Finds the end of the page by looking at each object. */
function* lookedAt(listing: ListRequest, snapshot: Snapshot, paging: Paging): Generator<Buffer, Page> {
  const { space, kind, version, selection } = listing;
  const { limit, from, effort } = paging;
  const held: StoredObject[] = [];
  let heldBytes = 0;
  let objects = 0;
  let last: StoredObject | undefined;
  let hasMore = false;
  const mustConvert = kind.storesAsWritten && showsContent(listing);
  const isRead = mustConvert || !selection.isEmpty;
  /** Returns false if nothing that follows matters. */
  const see = (stored: StoredObject): boolean => {
    if (!selectsStored(listing, stored)) return true;
    hasMore = limit > 0 && objects === limit;
    if (hasMore) return false;
    if (mustConvert) inVersion(kind, space.parse(stored), version);
    objects++;
    last = stored;
    if (heldBytes < heldBytesMax) held.push(stored);
    heldBytes += stored.body.length;
    return true;
  };
  for (let after: Place | undefined = from; ; yield pause) {
    let seen: Place | undefined;
    snapshot.visit({ ...placeIn(listing), ...(after ? { after } : {}) }, (stored) => {
      const goesOn = see(stored);
      if (goesOn && effort.spend(isRead ? stored.body.length : 0)) seen = stored.key;
      return goesOn && seen === undefined;
    });
    if (!seen) break;
    after = seen;
  }
  const next = hasMore && last ? behind(listing, snapshot, paging, last.key) : {};
  return { held, after: held.at(-1)?.key ?? from, objects, ...next };
}

/** The token for the objects behind `last`, the last object of a page. */
function behind(
  { space: { storage }, kind, namespace, selection, nowMs }: ListRequest,
  { revision }: Snapshot,
  { limit, from }: Paging,
  last: Place,
): { next: string; remaining?: number } {
  const within = placeIn({ namespace });
  const all = () =>
    from?.remaining ?? storage.count(storedResource(kind), { ...within, ...(from ? { after: from } : {}) });
  const remaining = selection.isEmpty ? all() - limit : undefined;
  const atMs = from && from.revision >= 0 ? from.atMs : nowMs;
  const next = encodeToken({ revision, atMs, namespace: last.namespace, name: last.name, remaining });
  return { next, ...(remaining === undefined ? {} : { remaining }) };
}

function encodeToken(token: Continue): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

export function continueOf(text: string): Continue {
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString()) as Continue;
    const { revision, atMs, namespace, name, remaining = 0 } = token;
    const isPlace = typeof namespace === 'string' && typeof name === 'string';
    if (isPlace && [revision, remaining].every(Number.isInteger) && Number.isFinite(atMs)) return token;
  } catch {
    // The token is not base64 of JSON. The answer is the same as for a token with the wrong fields.
  }
  throw new BanyanError('BadRequest', 'continue key is not valid: start a new list without the continue parameter');
}
