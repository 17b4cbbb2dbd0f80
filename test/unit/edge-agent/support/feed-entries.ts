/** Entries of a down feed as a parent sends them. */
import type { WireEntry } from '../../../../core/feed/feed.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { text } from '../../../../core/store/bytes.ts';

export function entry(key: string, attributes: object, body: KubeObject | undefined, revision: number): WireEntry {
  const content = {
    key,
    attributes: text(JSON.stringify(attributes)),
    body: body ? canonicalBytes(body) : new Uint8Array(0),
  };
  return { keyHash: hash128(key), revision, originRevision: revision, content };
}

export function tombstone(key: string, revision: number): WireEntry {
  return { keyHash: hash128(key), revision, originRevision: revision };
}
