/**
 * Reads the objects of one space as bytes. Lists are made from stored bytes, without parsing. Objects are parsed only if a selector or the form of the
 * answer needs their fields. The server makes a list while its client reads, and does not keep the part that the client has not read yet.
 */
import { jsonText } from '../../object/json.ts';
import { formatApiVersion, type JsonObject, type KubeObject } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { encodeItem, encodeList } from '../protobuf/encode.ts';
import type { Kind } from '../space.ts';
import type { Snapshot } from '../storage/snapshot.ts';
import type { StoredObject } from '../storage.ts';
import {
  type ColumnKind,
  columnDefinitions,
  partialMetadata,
  type TableOptions,
  table,
  tableRow,
} from '../table/table.ts';
import { isOlderThanDefinition, shownIn } from '../verbs/object-form.ts';
import { ByteText } from './byte-text.ts';
import { continueOf, type Page, pageOf, snapshotFor } from './list-pages.ts';
import { Effort, type InVersion, type ListRequest, mustParse, pause, placeIn, selectsStored } from './list-request.ts';
import { protobufType } from './negotiate.ts';
import { addPublic, publicBytes, publicParsed } from './public-form.ts';

/**
 * The bytes of the object in the requested version. Objects of a kind with one version and one form are not parsed, unless their definition has changed since
 * they were stored. Throws if the object can't be converted to the version.
 */
export function bytesInVersion({ space, kind, version }: InVersion, stored: StoredObject): Buffer {
  if (isShownAsStored(kind, stored)) return publicBytes(kind, stored);
  const object = publicParsed(space, kind, stored);
  const shown = shownIn(kind, object, version);
  return shown === object ? publicBytes(kind, stored) : Buffer.from(jsonText(shown));
}

function isShownAsStored(kind: Kind, stored: StoredObject): boolean {
  return !kind.hasSeveralVersions && !kind.storedAs && !isOlderThanDefinition(kind, stored.revision);
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
  return bytesOf(listing, stored);
}

/** One object in a form that is no table. */
export function bytesOf(listing: ListRequest, stored: StoredObject): Buffer {
  return listing.form.as === 'PartialObjectMetadata'
    ? Buffer.from(jsonText(answeredObject(listing, stored)))
    : bytesInVersion(listing, stored);
}

/** The same, not yet written as JSON or protobuf. Throws if the object can't be converted to the version. */
export function answeredObject({ space, kind, version, form }: ListRequest, stored: StoredObject): object {
  const object = publicParsed(space, kind, stored);
  // The metadata of an object is the same in all versions.
  return form.as === 'PartialObjectMetadata' ? partialMetadata(object, form.version) : shownIn(kind, object, version);
}

/** The kind of the subresource `scale` of every kind, for its columns. */
const scaleKind: ColumnKind = { group: 'autoscaling', resource: 'scales', columns: () => [] };

/** The subresource `scale` of an object in the requested form. */
export function scaleBytes({ form, includeObject, nowMs }: ListRequest, scale: KubeObject): Buffer {
  if (form.as !== 'Table') return json(scale);
  const rows = [tableRow(scaleKind, 'v1', scale, { version: form.version, includeObject, nowMs })];
  const metadata = { resourceVersion: scale.metadata.resourceVersion };
  return json(table(columnDefinitions(scaleKind, 'v1'), rows, metadata, form.version));
}

/**
 * Bytes of objects that a list reads at once, and the length of a piece. The store reads 256 KiB ahead, so a longer read would read its last objects twice.
 */
const readBytesMax = 255 * 1024;
/** The first piece of a short list grows from this length. */
const firstPieceBytes = 16 * 1024;

/**
 * The text of a list in pieces; all pieces are of one revision. A caller that stops before the end must call `return`. The first piece throws if the
 * request has a mistake. Another piece throws Expired if, since the first piece, more objects have changed than a snapshot keeps.
 */
export function* listPieces(
  listing: ListRequest,
  limit: number,
  token: string | null,
  head: ListHead,
): Generator<Buffer, void> {
  const from = token ? continueOf(token) : undefined;
  const snapshot = snapshotFor(listing, from);
  try {
    const effort = new Effort();
    const page = yield* pageOf(listing, snapshot, { limit: Math.max(limit, 0), from, effort });
    const metadata = {
      resourceVersion: String(snapshot.revision),
      ...(page.next ? { continue: page.next } : {}),
      ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
    };
    const whole = listing.form.protobuf && (yield* inProtobuf(listing, snapshot, page, { metadata, effort }));
    if (whole) {
      head.contentType = protobufType;
      return yield whole;
    }
    const form = formOf(listing, metadata);
    const text = new ByteText(firstPieceBytes);
    text.add(Buffer.from(form.head));
    yield* itemsOf(listing, snapshot, page, { text, add: form.add, separator: ',', effort });
    text.ascii(']}\n');
    yield text.take();
  } finally {
    snapshot[Symbol.dispose]();
  }
}

/** The fields of the answer's head that depend on the list. */
export interface ListHead {
  contentType: string;
}

/** Bytes of a list in protobuf. The length of the list is written before its items, so the whole list is in memory. */
const protobufBytesMax = 8 * 1024 * 1024;

/** The whole list, if it is short enough. A longer list is JSON if the client reads JSON too. Throws TooLarge if it does not. */
function* inProtobuf(
  listing: ListRequest,
  snapshot: Snapshot,
  page: Page,
  { metadata, effort }: { readonly metadata: JsonObject; readonly effort: Effort },
): Generator<Buffer, Buffer | undefined> {
  const add = (text: ByteText, stored: StoredObject) => text.add(encodeItem(answeredObject(listing, stored)));
  const text = new ByteText(firstPieceBytes);
  const items: Buffer[] = [];
  let bytes = 0;
  for (const piece of itemsOf(listing, snapshot, page, { text, add, separator: '', effort })) {
    if (piece.length === 0) yield piece;
    else items.push(piece);
    bytes += piece.length;
    if (bytes <= protobufBytesMax) continue;
    if (listing.form.protobuf?.orJson) return undefined;
    const remedy = 'list in chunks (limit), or accept application/json';
    throw new BanyanError('TooLarge', `the list has more than ${protobufBytesMax} bytes: ${remedy}`);
  }
  const { apiVersion, kind } = listType(listing);
  return encodeList(apiVersion, kind, metadata, [...items, text.take()]);
}

interface Writing {
  /** Gets the items. What is left in the text at the end belongs to the list too. */
  readonly text: ByteText;
  readonly add: ListForm['add'];
  /** Stands between two items. */
  readonly separator: string;
  readonly effort: Effort;
}

/** Reads the objects of the page, and adds them to the text as they are read. */
function* itemsOf(
  listing: ListRequest,
  snapshot: Snapshot,
  page: Page,
  { text, add, separator, effort }: Writing,
): Generator<Buffer, void> {
  const { selection } = listing;
  const isRead = mustParse(listing) || !selection.isEmpty;
  let written = 0;
  const item = (stored: StoredObject) => {
    if (written++ > 0) text.ascii(separator);
    add(text, stored);
  };
  for (const stored of page.held) item(stored);
  let after = page.after;
  for (let isCut = written < page.objects; isCut; ) {
    isCut = false;
    let isSpent = false;
    const limit = selection.isEmpty ? { limit: page.objects - written } : {};
    snapshot.visit({ ...placeIn(listing), ...(after ? { after } : {}), ...limit }, (stored) => {
      if (selectsStored(listing, stored)) item(stored);
      isSpent = effort.spend(isRead ? stored.body.length : 0);
      isCut = written < page.objects && (isSpent || text.length >= readBytesMax);
      if (isCut) after = stored.key;
      return written < page.objects && !isCut;
    });
    if (text.length >= readBytesMax) yield text.take(2 * firstPieceBytes + readBytesMax);
    if (isCut && isSpent && isRead) yield pause;
  }
}

interface ListForm {
  /** The text up to and including the bracket that opens the items. */
  readonly head: string;
  add(text: ByteText, stored: StoredObject): void;
}

function formOf(listing: ListRequest, metadata: JsonObject): ListForm {
  const { form, kind, version } = listing;
  if (form.as === 'Table') {
    const empty = jsonText(table(columnDefinitions(kind, version), [], metadata, form.version));
    return {
      // The rows are the last field of the table.
      head: empty.slice(0, -']}'.length),
      add: (text, stored) => text.add(Buffer.from(jsonText(rowOf(listing, form, stored, listing.nowMs)))),
    };
  }
  return {
    head: jsonText({ ...listType(listing), metadata, items: [] }).slice(0, -']}'.length),
    add: (text, stored) => {
      if (form.as === 'object' && isShownAsStored(kind, stored)) addPublic(text, kind, stored);
      else text.add(bytesOf(listing, stored));
    },
  };
}

/** The type of a list that is no table. */
function listType({ form, kind, version }: ListRequest): { readonly kind: string; readonly apiVersion: string } {
  return form.as === 'PartialObjectMetadata'
    ? { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.version}` }
    : { kind: kind.listKind, apiVersion: formatApiVersion(kind.group, version) };
}

function json(value: object): Buffer {
  return Buffer.from(`${jsonText(value)}\n`);
}

/** Throws if a Table can't have this content. */
export function includeObjectOf(text: string): TableOptions['includeObject'] {
  if (text === 'None' || text === 'Metadata' || text === 'Object') return text;
  const message = `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw new BanyanError('BadRequest', message);
}
