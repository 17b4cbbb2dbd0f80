/**
 * A copy: one object at one edge cluster, as the parent of the agent knows it. A placed object is the delivered form with the last reported status. Associated
 * and upsynced objects are whole, as the agent reported them.
 */

import { attributesOf, entryKey } from '../../core/entries/entry-keys.ts';
import type { StateAttributes } from '../../core/entries/up-attributes.ts';
import type { Content, FeedRow, Table } from '../../core/feed/feed.ts';
import { segmentsOf } from '../../core/identity/node-path.ts';
import { parseBody, stableStringify } from '../../core/object/canonical.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { hash128 } from '../../core/object/hash.ts';
import { parseJson } from '../../core/object/json.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { asText, hex, text } from '../../core/store/bytes.ts';
import type { Reader } from '../../core/store/store.ts';
import { inTermsOfOrigin } from '../../core/summary/origin-generations.ts';
import type { Mailbox } from '../mailbox/mailboxes.ts';
import { shownBody } from '../views/bodies.ts';

/** The label of each copy: the path of its cluster, with dots for colons. A path that is too long for a label value is an annotation instead. */
export const pathLabel = 'banyan.io/path';
/** The annotation of a copy whose agent is not connected: the time at which the agent was last connected. */
export const staleAnnotation = 'banyan.io/stale';
/** The longest label value that Kubernetes allows. */
const labelValueMax = 63;

/** The rows of a copy, read in one transaction. */
export interface CopyRows {
  readonly key: ObjectKey;
  readonly from: 'placed' | 'upsynced' | 'associated';
  readonly content: Content;
  /** Only for a placed object: the agent's report about it. */
  readonly state?: Content;
  /** Changes with each change of the rows. */
  readonly revision: number;
  /** The hashes of the contents. Equal texts: the copy has not changed. */
  readonly version: string;
}

/**
 * Returns the copy of the source with this key at an agent. An upsynced object wins over a placed one, and a placed one over an associated one, as at the
 * cluster. A placed object for which the cluster has the object of another source is no copy.
 */
export function readCopy(
  reader: Reader,
  { producer, reported }: Mailbox,
  { source, path }: { readonly source: string; readonly path: string },
  key: ObjectKey,
): CopyRows | undefined {
  const upsynced = rowOf(reader, reported, entryKey.upsynced(source, path, key));
  if (upsynced) return whole(reader, reported, 'upsynced', key, upsynced);
  const placed = rowOf(reader, producer, entryKey.object(source, key));
  const state = placed && rowOf(reader, reported, entryKey.state(source, key));
  const stateContent = state?.content && reported.content(reader, state.content);
  if (placed && !isConflicted(stateContent)) {
    return {
      ...whole(reader, producer, 'placed', key, placed),
      revision: placed.revision + (state?.revision ?? 0),
      version: `${versionOf(placed)} ${state ? versionOf(state) : ''}`,
      ...(stateContent ? { state: stateContent } : {}),
    };
  }
  const associated = rowOf(reader, reported, entryKey.associated(source, key));
  return associated && whole(reader, reported, 'associated', key, associated);
}

function whole(reader: Reader, table: Table, from: CopyRows['from'], key: ObjectKey, row: LiveRow): CopyRows {
  return { key, from, content: table.content(reader, row.content), revision: row.revision, version: versionOf(row) };
}

type LiveRow = FeedRow & { readonly content: NonNullable<FeedRow['content']> };

function rowOf(reader: Reader, table: Table, key: string): LiveRow | undefined {
  const row = table.get(reader, hash128(key));
  return row?.content ? (row as LiveRow) : undefined;
}

function versionOf(row: LiveRow): string {
  return hex(row.content.hash);
}

function isConflicted(state: Content | undefined): boolean {
  return state !== undefined && attributesOf<StateAttributes>(state).reason === 'Conflicted';
}

/** The reported status, with generations of the origin. Undefined: the cluster has reported none. */
function statusOf(state: Content): Uint8Array | undefined {
  if (state.body.length === 0) return undefined;
  const { generation, local } = attributesOf<StateAttributes>(state);
  const status = parseJson(asText(state.body)) as Record<string, unknown>;
  return text(stableStringify(inTermsOfOrigin(status, generation, local)));
}

/** The object that clients see, without a resourceVersion. `staleSinceMs`: wall time since which the agent is not connected. */
export function shownObject(rows: CopyRows, path: string, staleSinceMs: number | undefined): KubeObject {
  const { from, content, state } = rows;
  const body = from === 'placed' ? shownBody(content, state && statusOf(state)) : content.body;
  const object = parseBody(body);
  const uid = from === 'placed' ? uidAt(path, object.metadata.uid ?? '') : object.metadata.uid;
  const metadata = { ...object.metadata, ...(uid === undefined ? {} : { uid }), ...markedPath(object, path) };
  if (staleSinceMs !== undefined)
    metadata.annotations = { ...metadata.annotations, [staleAnnotation]: timestamp(staleSinceMs) };
  return { ...object, metadata };
}

function markedPath({ metadata }: KubeObject, path: string): Pick<KubeObject['metadata'], 'labels' | 'annotations'> {
  const value = pathValue(path);
  if (value.length <= labelValueMax) return { labels: { ...metadata.labels, [pathLabel]: value } };
  return { annotations: { ...metadata.annotations, [pathLabel]: value } };
}

/** `eu.paris.store-17` for `eu:paris:store-17`. Names of nodes have no dots, so the text names one path. */
export function pathValue(path: string): string {
  return segmentsOf(path).join('.');
}

/** The path that `pathValue` shows as this text. A path with colons stays as it is. */
export function pathOfValue(value: string): string {
  return value.replaceAll('.', ':');
}

/**
 * A uid for one copy of a placed object: all copies have the uid of the origin's object, and a client that keeps objects by uid would take them for one. The
 * same copy always gets the same uid. The text has the form of a UUID of version 8 (https://www.rfc-editor.org/rfc/rfc9562#section-5.8).
 */
export function uidAt(path: string, originUid: string): string {
  const digits = hex(hash128(`${path} ${originUid}`));
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`, `8${digits.slice(17, 20)}`];
  return [...parts, digits.slice(20, 32)].join('-');
}

/**
 * The part of a copy that selectors read, and that a client needs to know which copy was deleted. A node keeps facets of many copies in memory, so a facet
 * has nothing else.
 */
export type Facet = KubeObject;

/** `selectable`: JSON paths of the kind such as `.spec.nodeName`. */
export function facetOf(rows: CopyRows, path: string, selectable: readonly string[]): Facet {
  const { apiVersion, kind, metadata, ...rest } = shownObject(rows, path, undefined);
  const { name, namespace, uid, labels, annotations, creationTimestamp } = metadata;
  const kept = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(uid === undefined ? {} : { uid }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations?.[pathLabel] === undefined ? {} : { annotations: { [pathLabel]: annotations[pathLabel] } }),
  };
  const facet = { metadata: kept, apiVersion, kind } as Facet;
  for (const field of selectable) copyField(facet, rest, field.split('.').slice(1));
  return facet;
}

function copyField(to: Record<string, unknown>, from: unknown, names: readonly string[]): void {
  const [name, ...others] = names;
  if (name === undefined || name === 'metadata') return;
  const value = (from as Record<string, unknown> | null | undefined)?.[name];
  if (value === undefined || value === null) return;
  if (others.length === 0) {
    if (typeof value !== 'object') to[name] = value;
    return;
  }
  to[name] ??= {};
  copyField(to[name] as Record<string, unknown>, value, others);
}
