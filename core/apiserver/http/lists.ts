/** Reads of one space as bytes: objects and lists spliced from what is stored, parsed only where a selector or a form asks for it. */
import { spliceMetadata } from '../../object/canonical.ts';
import { formatApiVersion, type KubeObject } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { Selection } from '../selection/selection.ts';
import type { Kind, Space } from '../space.ts';
import type { StoredObject } from '../storage.ts';
import { columnDefinitions, partialMetadata, type TableOptions, table, tableRow } from '../table/table.ts';
import type { Form } from './negotiate.ts';

export interface Listing {
  readonly space: Space;
  readonly kind: Kind;
  readonly version: string;
  readonly namespace: string;
  readonly selection: Selection;
  readonly form: Form;
  readonly includeObject: TableOptions['includeObject'];
  readonly nowMs: number;
}

interface Continue {
  /** Revision of the first page: all pages are of it. */
  readonly revision: number;
  readonly namespace: string;
  readonly name: string;
}

const comma = Buffer.from(',');

/** Stored bytes with the resourceVersion in them. */
export function objectBytes(stored: StoredObject): Buffer {
  return Buffer.concat(spliceMetadata(stored.body, `"resourceVersion":"${stored.revision}"`));
}

/** The object in the asked version, from bytes while that is the stored one. */
export function bytesInVersion(listing: Pick<Listing, 'space' | 'kind' | 'version'>, stored: StoredObject): Buffer {
  if (listing.version === listing.kind.storageVersion) return objectBytes(stored);
  return Buffer.from(JSON.stringify(parsed(listing, stored)));
}

export function parsed(
  { space, kind, version }: Pick<Listing, 'space' | 'kind' | 'version'>,
  stored: StoredObject,
): KubeObject {
  const object = space.parse(stored);
  return version === kind.storageVersion ? object : kind.rules.convert(object, version);
}

/** One object in the asked form. */
export function oneBytes(listing: Listing, stored: StoredObject): Buffer {
  const { form, kind, version } = listing;
  if (form.as === 'Table') {
    const options = { version: form.version, includeObject: listing.includeObject, nowMs: listing.nowMs };
    const rows = [tableRow(kind, version, parsed(listing, stored), options)];
    return json(
      table(columnDefinitions(kind, version), rows, { resourceVersion: String(stored.revision) }, form.version),
    );
  }
  if (form.as === 'PartialObjectMetadata') return json(partialMetadata(parsed(listing, stored), form.version));
  return bytesInVersion(listing, stored);
}

export function listBytes(listing: Listing, limit: number, token: string | null): Buffer {
  const { space, form, kind, version } = listing;
  const page = pageOf(listing, limit, token);
  const metadata = {
    resourceVersion: String(page.revision),
    ...(page.next ? { continue: page.next } : {}),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
  if (form.as === 'Table') {
    const options = { version: form.version, includeObject: listing.includeObject, nowMs: listing.nowMs };
    const rows = page.items.map((stored) => tableRow(kind, version, parsed(listing, stored), options));
    return json(table(columnDefinitions(kind, version), rows, metadata, form.version));
  }
  if (form.as === 'PartialObjectMetadataList' || form.as === 'PartialObjectMetadata') {
    const items = page.items.map((stored) => partialMetadata(space.parse(stored), form.version));
    return json({ kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.version}`, metadata, items });
  }
  const apiVersion = formatApiVersion(kind.group, version);
  const head = `{"kind":${JSON.stringify(kind.listKind)},"apiVersion":"${apiVersion}","metadata":${JSON.stringify(metadata)},"items":[`;
  const pieces: Buffer[] = [Buffer.from(head)];
  for (const [i, stored] of page.items.entries()) {
    if (i > 0) pieces.push(comma);
    pieces.push(bytesInVersion(listing, stored));
  }
  pieces.push(Buffer.from(']}\n'));
  return Buffer.concat(pieces);
}

interface Page {
  readonly revision: number;
  readonly items: readonly StoredObject[];
  readonly next?: string;
  readonly remaining?: number;
}

function pageOf(listing: Listing, limit: number, token: string | null): Page {
  const { space, kind, namespace, selection } = listing;
  const from = token ? decodeToken(token) : undefined;
  const revision = from?.revision ?? space.storage.revision();
  const options = {
    ...(namespace === '' ? {} : { namespace }),
    ...(from ? { after: { namespace: from.namespace, name: from.name } } : {}),
  };
  const all = from ? space.storage.scanAt(kind, revision, options) : space.storage.scan(kind, options);
  if (all === 'expired') {
    const message =
      'The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.';
    throw new BanyanError('Expired', message);
  }
  const selected = selection.isEmpty ? all : all.filter((stored) => selection.matches(space.parse(stored)));
  if (limit <= 0 || selected.length <= limit) return { revision, items: selected };
  const items = selected.slice(0, limit);
  const last = items.at(-1)!.key;
  const next = encodeToken({ revision, namespace: last.namespace, name: last.name });
  return { revision, items, next, ...(selection.isEmpty ? { remaining: selected.length - limit } : {}) };
}

function encodeToken(token: Continue): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

function decodeToken(text: string): Continue {
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString()) as Continue;
    if (Number.isInteger(token.revision) && typeof token.name === 'string') return token;
  } catch {
    // Not base64 of JSON: the same answer as a token of another shape.
  }
  throw new BanyanError('BadRequest', 'continue key is not valid: start a new list without the continue parameter');
}

function json(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}
