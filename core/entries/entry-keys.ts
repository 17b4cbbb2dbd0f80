/** The keys of the entries of the down and up feeds, as docs/architecture.md lists them; entry-attributes.ts has what the nodes on the way read. */

import type { Content } from '../feed/feed.ts';
import { formatKey, type ObjectKey, parseKey } from '../object/key.ts';
import { asText } from '../store/bytes.ts';

/** `center.retail/shop-prod`: a placement wherever it has arrived. Names hold no slash, so it splits one way only. */
export type PlacementId = string;

export function placementId(source: string, name: string): PlacementId {
  return `${source}/${name}`;
}

export function splitPlacementId(id: PlacementId): { source: string; name: string } {
  const slash = id.indexOf('/');
  return { source: id.slice(0, slash), name: id.slice(slash + 1) };
}

export type EntryKey =
  | { readonly type: 'tree' }
  | { readonly type: 'placement'; readonly id: PlacementId }
  | { readonly type: 'target'; readonly id: PlacementId }
  | { readonly type: 'rules'; readonly id: PlacementId }
  | { readonly type: 'grant'; readonly id: PlacementId }
  | { readonly type: 'withdrawn'; readonly id: PlacementId }
  | { readonly type: 'gone'; readonly id: PlacementId }
  | { readonly type: 'handed' | 'has'; readonly id: PlacementId }
  | { readonly type: 'object'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'auxiliary'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'promoted'; readonly source: string; readonly id: PlacementId; readonly object: ObjectKey }
  | {
      readonly type: 'promotedCustomizer';
      readonly source: string;
      readonly id: PlacementId;
      readonly object: ObjectKey;
    }
  | { readonly type: 'release'; readonly source: string; readonly id: PlacementId }
  | { readonly type: 'inventory'; readonly source: string; readonly syncTarget: string }
  | { readonly type: 'keep'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'era'; readonly source: string }
  | { readonly type: 'release-held'; readonly path: string }
  | { readonly type: 'seen'; readonly source: string }
  | { readonly type: 'labels' }
  | { readonly type: 'counted' }
  | { readonly type: 'partial'; readonly id: PlacementId }
  | { readonly type: 'summary'; readonly id: PlacementId; readonly summarizer: string }
  | { readonly type: 'state'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'associated'; readonly source: string; readonly object: ObjectKey }
  | { readonly type: 'upsynced'; readonly source: string; readonly path: string; readonly object: ObjectKey }
  | { readonly type: 'status'; readonly id: PlacementId; readonly object: ObjectKey }
  | { readonly type: 'node'; readonly path: string }
  | { readonly type: 'siblings' | 'matched' }
  | { readonly type: 'owner' | 'attach'; readonly child: string };

export const treeKey = 'tree';
export const labelsKey = 'labels';
/** Retired: older relays tell in it what is the body of `labels` now. */
export const countedKey = 'counted';
export const siblingsKey = 'siblings';
/** By which label summary of the receiver all in front of it was found. */
export const matchedKey = 'matched';
export const ownerKey = (child: string) => `owner/${child}`;
export const attachKey = (child: string) => `attach/${child}`;
export const placementKey = (id: PlacementId) => `p/${id}`;
export const targetKey = (id: PlacementId) => `t/${id}`;
export const rulesKey = (id: PlacementId) => `u/${id}`;
export const grantKey = (id: PlacementId) => `g/${id}`;
export const withdrawnKey = (id: PlacementId) => `w/${id}`;
/** Which release an agent was handed, and its own word of that. */
export const handedKey = (id: PlacementId) => `h/${id}`;
export const hasKey = (id: PlacementId) => `has/${id}`;
export const goneKey = (id: PlacementId) => `gone/${id}`;
export const objectKey = (source: string, key: ObjectKey) => `o/${source}/${formatKey(key)}`;
/** Its object is to stay as the agent has it. */
export const keepKey = (source: string, key: ObjectKey) => `k/${source}/${formatKey(key)}`;
export const auxiliaryKey = (source: string, key: ObjectKey) => `a/${source}/${formatKey(key)}`;
export const promotedKey = (id: PlacementId, key: ObjectKey) => `q/${id}/${formatKey(key)}`;
export const promotedCustomizerKey = (id: PlacementId, key: ObjectKey) => `c/${id}/${formatKey(key)}`;
export const releaseKey = (id: PlacementId) => `r/${id}`;
export const inventoryKey = (source: string, syncTarget: string) => `i/${source}/${syncTarget}`;
export const eraKey = (source: string) => `era/${source}`;
export const releaseHeldKey = (path: string) => `release/${path}`;
export const seenKey = (source: string) => `seen/${source}`;
export const partialKey = (id: PlacementId) => `partial/${id}`;
export const summaryKey = (id: PlacementId, summarizer: string) => `sum/${id}/${summarizer}`;
export const stateKey = (source: string, key: ObjectKey) => `state/${source}/${formatKey(key)}`;
export const associatedKey = (source: string, key: ObjectKey) => `assoc/${source}/${formatKey(key)}`;
/** `path` is of the agent; a path has no slash. */
export const upsyncedKey = (source: string, path: string, key: ObjectKey) => `up/${source}/${path}/${formatKey(key)}`;
export const statusKey = (id: PlacementId, key: ObjectKey) => `status/${id}/${formatKey(key)}`;
export const nodeKey = (path: string) => `node/${path}`;

/** Parts of a key before those of its object, by the first of them. */
const objectsAt: ReadonlyMap<string, number> = new Map([
  ['o', 2],
  ['k', 2],
  ['a', 2],
  ['state', 2],
  ['assoc', 2],
  ['q', 3],
  ['c', 3],
  ['up', 3],
  ['status', 3],
]);
/** Group, resource, namespace and name: see object/key.ts. */
const objectParts = 4;

/** Whether a key is meant to name an object, whatever else is in it. */
export function isObjectEntry(key: string): boolean {
  return objectsAt.has(key.slice(0, key.indexOf('/')));
}

/** Of which there is one in a feed. */
const wholeKeys = [
  { type: treeKey },
  { type: labelsKey },
  { type: countedKey },
  { type: siblingsKey },
  { type: matchedKey },
] as const;

/** Undefined for a key that this version does not know, or that names no object where it should: it is kept and passed over. */
export function parseEntryKey(key: string): EntryKey | undefined {
  const objectAt = objectsAt.get(key.slice(0, key.indexOf('/')));
  if (objectAt !== undefined && key.split('/').length !== objectAt + objectParts) return undefined;
  return parsedEntryKey(key);
}

function parsedEntryKey(key: string): EntryKey | undefined {
  const slash = key.indexOf('/');
  if (slash < 0) return wholeKeys.find(({ type }) => type === key);
  const rest = key.slice(slash + 1);
  switch (key.slice(0, slash)) {
    case 'p':
      return { type: 'placement', id: rest };
    case 't':
      return { type: 'target', id: rest };
    case 'u':
      return { type: 'rules', id: rest };
    case 'g':
      return { type: 'grant', id: rest };
    case 'w':
      return { type: 'withdrawn', id: rest };
    case 'h':
      return { type: 'handed', id: rest };
    case 'has':
      return { type: 'has', id: rest };
    case 'gone':
      return { type: 'gone', id: rest };
    case 'partial':
      return { type: 'partial', id: rest };
    case 'sum': {
      const [source = '', name = '', summarizer = ''] = rest.split('/');
      return { type: 'summary', id: placementId(source, name), summarizer };
    }
    case 'node':
      return { type: 'node', path: rest };
    case 'owner':
      return { type: 'owner', child: rest };
    case 'attach':
      return { type: 'attach', child: rest };
    case 'era':
      return { type: 'era', source: rest };
    case 'release':
      return { type: 'release-held', path: rest };
    case 'seen':
      return { type: 'seen', source: rest };
    case 'o':
      return { type: 'object', ...sourceAndObject(rest) };
    case 'k':
      return { type: 'keep', ...sourceAndObject(rest) };
    case 'a':
      return { type: 'auxiliary', ...sourceAndObject(rest) };
    case 'q':
      return { type: 'promoted', source: splitPlacementId(rest).source, ...placementAndObject(rest) };
    case 'c':
      return { type: 'promotedCustomizer', source: splitPlacementId(rest).source, ...placementAndObject(rest) };
    case 'r':
      return { type: 'release', source: splitPlacementId(rest).source, id: rest };
    case 'i': {
      const { source, name } = splitPlacementId(rest);
      return { type: 'inventory', source, syncTarget: name };
    }
    case 'state':
      return { type: 'state', ...sourceAndObject(rest) };
    case 'assoc':
      return { type: 'associated', ...sourceAndObject(rest) };
    case 'up': {
      const [source = '', path = '', ...object] = rest.split('/');
      return { type: 'upsynced', source, path, object: parseKey(object.join('/')) };
    }
    case 'status':
      return { type: 'status', ...placementAndObject(rest) };
    default:
      return undefined;
  }
}

function sourceAndObject(rest: string): { source: string; object: ObjectKey } {
  const slash = rest.indexOf('/');
  return { source: rest.slice(0, slash), object: parseKey(rest.slice(slash + 1)) };
}

function placementAndObject(rest: string): { id: PlacementId; object: ObjectKey } {
  const [source = '', name = '', ...object] = rest.split('/');
  return { id: placementId(source, name), object: parseKey(object.join('/')) };
}

/** What an entry says to the nodes on the way. */
export function attributesOf<T>(content: Content): T {
  return JSON.parse(asText(content.attributes)) as T;
}
