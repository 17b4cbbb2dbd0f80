/**
 * Checks what a parent may send to a child: placements and objects of sources above the child, and entries about the child itself. Everything else ends the
 * session.
 */
import type { AppliedChange } from '../feed/feed.ts';
import { isSourceAbove } from '../identity/node-path.ts';
import { BanyanError } from '../runtime/errors.ts';
import { asText } from '../store/bytes.ts';
import { parseEntryKey, sourceOfKey } from './entry-keys.ts';
import { downKind } from './entry-lookup.ts';

/** `path` is the child's path. Throws Protocol if the parent must not send the entry. */
export function checkFromParent(path: string, { key, after }: AppliedChange): void {
  const entry = parseEntryKey(key);
  if (!entry || !after) return;
  const attributes = parsed(key, after.attributes);
  if (!downKind(entry.type)) {
    throw new BanyanError('Protocol', `the parent sends the entry "${key}", which only a child may send`);
  }
  if (entry.type === 'tree') {
    const named = (attributes as { path?: unknown }).path;
    if (named === path) return;
    throw new BanyanError('Protocol', `the parent sends the entry "tree" of the node "${named}" to "${path}"`);
  }
  const source = sourceOfKey(entry);
  if (source !== undefined) checkSource(path, key, source);
}

/** Checks only that the attributes are a JSON object. Their fields are checked where they are used. */
function parsed(key: string, attributes: Uint8Array): object {
  let value: unknown;
  try {
    value = JSON.parse(asText(attributes));
  } catch {
    // The error below covers this case too.
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new BanyanError('Protocol', `the attributes of the entry "${key}" are no JSON object`);
}

function checkSource(path: string, key: string, source: string): void {
  if (isSourceAbove(path, source)) return;
  throw new BanyanError(
    'Protocol',
    `the parent of "${path}" sends the entry "${key}" of "${source}", which is not above it`,
  );
}

/** Throws Protocol if a watermark is not of a source above the child. */
export function checkWatermarks(path: string, marks: Readonly<Record<string, number>>): void {
  for (const source of Object.keys(marks)) {
    if (isSourceAbove(path, source)) continue;
    const quoted = JSON.stringify(source.slice(0, 100));
    throw new BanyanError('Protocol', `the parent of "${path}" sends a watermark of ${quoted}, which is not above it`);
  }
}
