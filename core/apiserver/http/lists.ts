/**
 * Reads the objects of one space as bytes. Lists are made from stored bytes, without parsing. Objects are parsed only if a selector or the form of the
 * answer needs their fields. The server makes a list while its client reads: for the part that the client has not read yet, the list keeps only the names
 * of objects.
 */
import { labelsInBody } from '../../object/body-labels.ts';
import { formatApiVersion, type KubeObject } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { RequestSelection } from '../selection/selection.ts';
import { type Kind, type Space, storedResource } from '../space.ts';
import { namespacedNameOf, placeText } from '../storage/event-log.ts';
import { Snapshot } from '../storage/snapshot.ts';
import type { StoredObject } from '../storage.ts';
import { columnDefinitions, partialMetadata, type TableOptions, table, tableRow } from '../table/table.ts';
import { inVersion, isOlderThanDefinition, shownIn } from '../verbs/object-form.ts';
import type { Form } from './negotiate.ts';
import { publicBytes, publicParsed } from './public-form.ts';

export interface ListRequest {
  readonly space: Space;
  readonly kind: Kind;
  readonly version: string;
  readonly namespace: string;
  readonly selection: RequestSelection;
  readonly form: Form;
  readonly includeObject: TableOptions['includeObject'];
  readonly nowMs: number;
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

interface Continue extends Place {
  /** The revision of the first page. All pages of the list show this revision. -1: the list goes on at the newest revision. */
  readonly revision: number;
  /** The time of the first page, in milliseconds since 1970. */
  readonly atMs: number;
}

/** A list can go on for this time, as at a Kubernetes API server, whose etcd forgets old revisions after five minutes. */
const listMsMax = 5 * 60_000;

/** The message of the Kubernetes API server. */
const compacted =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

const comma = Buffer.from(',');

type InVersion = Pick<ListRequest, 'space' | 'kind' | 'version'>;

/**
 * The bytes of the object in the requested version. Objects of a kind with one version and one form are not parsed, unless their definition has changed since
 * they were stored. Throws if the object can't be converted to the version.
 */
export function bytesInVersion({ space, kind, version }: InVersion, stored: StoredObject): Buffer {
  if (!kind.hasSeveralVersions && !kind.storedAs && !isOlderThanDefinition(kind, stored.revision))
    return publicBytes(kind, stored);
  const object = publicParsed(space, kind, stored);
  const shown = shownIn(kind, object, version);
  return shown === object ? publicBytes(kind, stored) : Buffer.from(JSON.stringify(shown));
}

/**
 * Whether the request selects the object. Labels, names and namespaces are the same in all versions. Throws if the selector needs other fields of an object
 * that can't be converted to the version of the request: a missing field would select or leave out the wrong objects.
 */
export function selectsObject({ kind, version, selection }: Omit<Selecting, 'space'>, object: KubeObject): boolean {
  return selection.matches(selection.readsContent ? shownIn(kind, object, version) : object);
}

type Selecting = InVersion & Pick<ListRequest, 'selection'>;

/** The same for a stored object. Most selectors read only labels, names and namespaces, and then the object is not parsed. */
export function selectsStored(listing: Selecting, stored: StoredObject): boolean {
  const { selection, space } = listing;
  if (selection.isEmpty) return true;
  if (selection.readsContent) return selectsObject(listing, space.parse(stored));
  const { name, namespace } = stored.key;
  return selection.matches({ metadata: { name, namespace, labels: labelsInBody(stored.body) } });
}

/** The row of an object. Throws if the row has to contain an object that can't be converted to the version. */
export function rowOf(
  listing: ListRequest,
  form: { version: TableOptions['version'] },
  stored: StoredObject,
  nowMs: number,
): object {
  const { space, kind, version, includeObject } = listing;
  const object = publicParsed(space, kind, stored);
  // Without the content, a row has the columns that the stored version has.
  const isShown = includeObject === 'Object' || kind.rules.convert(object, version) !== undefined;
  const shown = isShown ? shownIn(kind, object, version) : object;
  return tableRow(kind, version, shown, { version: form.version, includeObject, nowMs });
}

/** One object in the requested form. */
export function oneBytes(listing: ListRequest, stored: StoredObject): Buffer {
  const { form, kind, version } = listing;
  if (form.as === 'Table') {
    const rows = [rowOf(listing, form, stored, listing.nowMs)];
    return json(
      table(columnDefinitions(kind, version), rows, { resourceVersion: String(stored.revision) }, form.version),
    );
  }
  // The metadata of an object is the same in all versions.
  if (form.as === 'PartialObjectMetadata')
    return json(partialMetadata(publicParsed(listing.space, kind, stored), form.version));
  return bytesInVersion(listing, stored);
}

/**
 * A piece without bytes: the list has worked for a while and lets others work. The caller asks for the next piece after it has handled everything that has come
 * meanwhile.
 */
export const pause = Buffer.alloc(0);
/** Objects between two pauses. The thread looks at 1,000 small objects in 5 ms. */
const turnObjectsMax = 500;
/** Bytes of objects between two pauses: the thread parses them in 5 to 20 ms. */
const turnBytesMax = 512 * 1024;

/** Counts the work on stored objects since the last pause. */
export class Effort {
  #objects = 0;
  #bytes = 0;

  /** True: it is time for a pause. */
  spend(bytes: number): boolean {
    this.#objects++;
    this.#bytes += bytes;
    if (this.#objects < turnObjectsMax && this.#bytes < turnBytesMax) return false;
    this.#objects = 0;
    this.#bytes = 0;
    return true;
  }
}

/** Bytes of objects that a list keeps from its first scan. Most lists are smaller, so they read the store only once. */
const foundBytesMax = 256 * 1024;

/**
 * The text of a list in pieces; all pieces are of one revision. A caller that stops before the end must call `return`. The first piece throws if the
 * request has a mistake. Another piece throws Expired if, since the first piece, more objects have changed than a snapshot keeps.
 */
export function* listPieces(listing: ListRequest, limit: number, token: string | null): Generator<Buffer, void> {
  const from = token ? decodeToken(token) : undefined;
  const isNew = from === undefined || from.revision < 0;
  const snapshot = snapshotFor(listing, from);
  try {
    const effort = new Effort();
    const page = yield* pageOf(listing, snapshot, { limit, from, atMs: isNew ? listing.nowMs : from.atMs, effort });
    const { head, item } = formOf(listing, {
      resourceVersion: String(snapshot.revision),
      ...(page.next ? { continue: page.next } : {}),
      ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
    });
    yield Buffer.from(head);
    const parses = mustParse(listing);
    let isFirst = true;
    for (const found of page.items()) {
      if (!isFirst) yield comma;
      isFirst = false;
      yield item(found);
      if (parses && effort.spend(found.body.length)) yield pause;
    }
    yield Buffer.from(']}\n');
  } finally {
    snapshot[Symbol.dispose]();
  }
}

/** Throws Expired, with a token to go on at the newest revision, if the list is too old or too much has changed since its first page. */
function snapshotFor({ space: { storage }, kind, nowMs }: ListRequest, from: Continue | undefined): Snapshot {
  const of = storedResource(kind);
  if (from === undefined || from.revision < 0) return new Snapshot(storage, of);
  try {
    if (nowMs - from.atMs <= listMsMax) return new Snapshot(storage, of, from.revision);
    // The pages from now on belong to another list, and clients tell lists apart by their revisions.
    storage.skipRevision?.();
  } catch (error) {
    if (!(error instanceof BanyanError) || error.code !== 'Expired') throw error;
  }
  throw new BanyanError('Expired', compacted, { continueToken: encodeToken({ ...from, revision: -1 }) });
}

interface ListForm {
  /** The text up to and including the bracket that opens the items. */
  readonly head: string;
  item(stored: StoredObject): Buffer;
}

function formOf(listing: ListRequest, metadata: object): ListForm {
  const { space, form, kind, version } = listing;
  if (form.as === 'Table') {
    const empty = JSON.stringify(table(columnDefinitions(kind, version), [], metadata, form.version));
    return {
      // The rows are the last field of the table.
      head: empty.slice(0, -']}'.length),
      item: (stored) => Buffer.from(JSON.stringify(rowOf(listing, form, stored, listing.nowMs))),
    };
  }
  const isMetadata = form.as === 'PartialObjectMetadataList' || form.as === 'PartialObjectMetadata';
  const type = isMetadata
    ? { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.version}` }
    : { kind: kind.listKind, apiVersion: formatApiVersion(kind.group, version) };
  return {
    head: JSON.stringify({ ...type, metadata, items: [] }).slice(0, -']}'.length),
    item: isMetadata
      ? (stored) => Buffer.from(JSON.stringify(partialMetadata(publicParsed(space, kind, stored), form.version)))
      : (stored) => bytesInVersion(listing, stored),
  };
}

interface Page {
  items(): Iterable<StoredObject>;
  readonly next?: string;
  readonly remaining?: number;
}

interface Paging {
  /** 0: no limit. */
  readonly limit: number;
  readonly from: Continue | undefined;
  /** The time of the first page. */
  readonly atMs: number;
  readonly effort: Effort;
}

function* pageOf(
  listing: ListRequest,
  snapshot: Snapshot,
  { limit, from, atMs, effort }: Paging,
): Generator<Buffer, Page> {
  const { space, kind, version, namespace, selection } = listing;
  const within = namespace === '' ? {} : { namespace };
  const found: StoredObject[] = [];
  const places: string[] = [];
  let foundBytes = 0;
  let last: StoredObject | undefined;
  let remaining = 0;
  const mustConvert = kind.storesAsWritten && showsContent(listing);
  const isRead = mustConvert || !selection.isEmpty;
  /** Returns false if nothing that follows matters. */
  const see = (stored: StoredObject): boolean => {
    if (!selectsStored(listing, stored)) return true;
    if (limit > 0 && found.length + places.length === limit) {
      remaining++;
      return selection.isEmpty;
    }
    // The server looks at every object of the page before it sends the first byte. Later, it could only break off the answer, without a reason.
    if (mustConvert) inVersion(kind, space.parse(stored), version);
    last = stored;
    if (foundBytes < foundBytesMax) found.push(stored);
    else places.push(placeText(stored.key));
    foundBytes += stored.body.length;
    return true;
  };
  for (let after: Place | undefined = from; ; yield pause) {
    let seen: Place | undefined;
    snapshot.visit({ ...within, ...(after ? { after } : {}) }, (stored) => {
      const goesOn = see(stored);
      if (goesOn && effort.spend(isRead ? stored.body.length : 0)) seen = stored.key;
      return goesOn && seen === undefined;
    });
    if (!seen) break;
    after = { namespace: seen.namespace, name: seen.name };
  }
  function* items(): Generator<StoredObject> {
    yield* found.splice(0);
    const of = storedResource(kind);
    for (const place of places) yield snapshot.get({ ...of, ...namespacedNameOf(place) })!;
  }
  if (remaining === 0 || !last) return { items };
  const { namespace: inNamespace, name } = last.key;
  const next = encodeToken({ revision: snapshot.revision, atMs, namespace: inNamespace, name });
  return { items, next, ...(selection.isEmpty ? { remaining } : {}) };
}

/** Whether the server has to parse the objects in order to show them in this form. */
export function mustParse({ form, kind }: Pick<ListRequest, 'form' | 'kind'>): boolean {
  return form.as !== 'object' || kind.hasSeveralVersions || kind.storedAs !== undefined || kind.definedAt !== undefined;
}

/** Whether the answer contains more of the objects than their metadata and columns. */
function showsContent({ form, includeObject }: ListRequest): boolean {
  if (form.as === 'Table') return includeObject === 'Object';
  return form.as !== 'PartialObjectMetadataList' && form.as !== 'PartialObjectMetadata';
}

function encodeToken(token: Continue): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

function decodeToken(text: string): Continue {
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString()) as Continue;
    if (Number.isInteger(token.revision) && Number.isFinite(token.atMs) && typeof token.name === 'string') return token;
  } catch {
    // The token is not base64 of JSON. The answer is the same as for a token with the wrong fields.
  }
  throw new BanyanError('BadRequest', 'continue key is not valid: start a new list without the continue parameter');
}

function json(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}
