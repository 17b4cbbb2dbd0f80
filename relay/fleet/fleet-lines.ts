/**
 * The lines of an answer. The first line is `begin`. A list then has items, and ends with `end`. A watch has events, and does not end by itself. A line of text
 * is a JSON header; the text of an object follows after a tab. So a node passes objects on without parsing them.
 */
import { BanyanError, type ErrorCode, isErrorCode } from '../../core/runtime/errors.ts';
import type { EdgeKind } from '../views/view-kinds.ts';
import type { Place } from './fleet-question.ts';

/** One copy in the form of the question. */
export interface Item extends Place {
  /** Changes with each change of the copy. */
  readonly revision: number;
  /** JSON without a line break and without metadata.resourceVersion. */
  readonly payload: Uint8Array;
  /** Where in the payload the resourceVersion belongs. -1: nowhere, because the form has no metadata. */
  readonly stampAt: number;
}

/** A place of the tree that did not answer, so the answer lacks its copies. */
export interface Away {
  readonly path: string;
  readonly why: string;
  /** How long the place has been disconnected. */
  readonly silentMs?: number;
  /** Number of destinations below the place, as last reported. */
  readonly destinations?: number;
}

/** An agent that is not connected. The answer has its copies as they were last reported. */
export interface Stale {
  readonly path: string;
  readonly silentMs: number;
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export type FleetLine =
  /** A watch from this position gets all later changes. */
  | { readonly type: 'begin'; readonly position: string }
  | { readonly type: 'item'; readonly item: Item }
  | { readonly type: 'event'; readonly event: EventType; readonly position: string; readonly item: Item }
  /** The watch has sent everything up to this position. `isComplete`: all copies that existed at the beginning were sent, except those of places that are away. */
  | { readonly type: 'position'; readonly position: string; readonly isComplete?: true }
  /** Nothing yet: the node is still looking for copies, and is not silent. */
  | { readonly type: 'busy' }
  | { readonly type: 'away'; readonly away: Away }
  | { readonly type: 'stale'; readonly stale: Stale }
  /** `more`: the list may have further copies. `remaining`: their number, if the node knows it. */
  | { readonly type: 'end'; readonly more: boolean; readonly remaining?: number }
  | { readonly type: 'kinds'; readonly kinds: readonly EdgeKind[] }
  /** The last line of an answer that failed. */
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string };

const tab = 0x09;
const newline = Buffer.from('\n');

export function encodeLine(line: FleetLine): Buffer {
  if (line.type !== 'item' && line.type !== 'event') return Buffer.from(`${JSON.stringify(line)}\n`);
  const { payload, ...item } = line.item;
  const header = JSON.stringify({ ...line, item });
  return Buffer.concat([Buffer.from(`${header}\t`), payload, newline]);
}

/** `bytes` is a line without its line break. Throws Protocol if the bytes are not a line. */
export function decodeLine(bytes: Buffer): FleetLine {
  const at = bytes.indexOf(tab);
  try {
    const line = JSON.parse(bytes.toString('utf8', 0, at < 0 ? bytes.length : at)) as FleetLine;
    if (line.type === 'error' && !isErrorCode(line.code)) return { ...line, code: 'Internal' };
    if (line.type !== 'item' && line.type !== 'event') return line;
    return { ...line, item: { ...line.item, payload: bytes.subarray(at + 1) } };
  } catch (cause) {
    const message = `an answer about a fleet has an invalid line: ${JSON.stringify(bytes.toString('utf8', 0, 100))}`;
    throw new BanyanError('Protocol', message, {}, { cause });
  }
}

/** The payload with this resourceVersion. */
export function stamped({ payload, stampAt }: Item, resourceVersion: string): Uint8Array[] {
  if (stampAt < 0) return [payload];
  const stamp = Buffer.from(`"resourceVersion":"${resourceVersion}",`);
  return [payload.subarray(0, stampAt), stamp, payload.subarray(stampAt)];
}
