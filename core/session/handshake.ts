/** Who may have a session: decided from what the parent remembers of the child, before anything else of the child is read. */

import { BanyanError } from '../runtime/errors.ts';
import { asText, concat, equalBytes, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { Hello } from '../wire/generated/mesh.ts';

/** The versions of the protocol that this node speaks. */
export const versionMin = 1;
export const versionMax = 1;
/** In words. */
export const ownVersions = versions(versionMin, versionMax);

export interface SessionRecord {
  readonly sessionSequence: number;
  readonly bootCounter: number;
  readonly bootNonce: string;
  readonly attachSequence: number;
}

export type SessionAdmission =
  | { readonly admitted: true; readonly version: number; readonly record: SessionRecord }
  | {
      readonly admitted: false;
      readonly reason: 'version' | 'clone' | 'path';
      readonly message: string;
      /** Of the one that is known, where that of the hello is not above it. */
      readonly bootCounter?: number;
    };

/** The newest legitimate session of a child wins; a copy of a child's store is told apart by its boot counter and nonce. */
export function admit(
  hello: Hello,
  expectedPath: string,
  known: SessionRecord | undefined,
  /** The child has a session now, or the parent believes so. */
  live = false,
): SessionAdmission {
  const version = Math.min(versionMax, hello.versionMax);
  if (version < Math.max(versionMin, hello.versionMin)) {
    const theirs = versions(hello.versionMin, hello.versionMax);
    const message = `the child speaks ${theirs} of the protocol, this parent ${ownVersions}: upgrade the older one`;
    return { admitted: false, reason: 'version', message };
  }
  if (hello.path !== expectedPath) {
    const message = `the certificate is for "${expectedPath}", the hello for "${hello.path}"`;
    return { admitted: false, reason: 'path', message };
  }
  const bootNonce = hello.bootNonce.toString('hex');
  if (known && hello.bootCounter < known.bootCounter)
    return {
      ...clone(hello, `an older start (${hello.bootCounter}, known ${known.bootCounter})`),
      bootCounter: known.bootCounter,
    };
  if (known && hello.bootCounter === known.bootCounter && bootNonce !== known.bootNonce) {
    return {
      ...clone(hello, `another process with the same boot counter ${hello.bootCounter}`),
      bootCounter: known.bootCounter,
    };
  }
  // A copy that is started again and again counts up past the original. It names a welcome that the original has left behind; so does an original
  // that was put back to a backup, which therefore waits until its old session is known to be dead.
  const attachedNonce = hello.attachedNonce.toString('hex');
  if (
    known &&
    live &&
    hello.bootCounter > known.bootCounter &&
    attachedNonce !== '' &&
    attachedNonce !== known.bootNonce
  )
    return clone(hello, 'a copy of an older state of its store');
  const { bootCounter, attachSequence } = hello;
  const sessionSequence = (known?.sessionSequence ?? 0) + 1;
  return { admitted: true, version, record: { sessionSequence, bootCounter, bootNonce, attachSequence } };
}

function versions(min: number, max: number): string {
  return min === max ? `version ${min}` : `versions ${min} to ${max}`;
}

function clone(hello: Hello, what: string): SessionAdmission & { readonly admitted: false } {
  const message = `"${hello.path}" is attached already, and this is ${what}: two nodes run with one identity; end one, or give it an identity of its own`;
  return { admitted: false, reason: 'clone', message };
}

export function readSession(reader: Reader, path: string): SessionRecord | undefined {
  const bytes = reader.get(concat(prefixOf('session'), text(path)));
  return bytes && (JSON.parse(asText(bytes)) as SessionRecord);
}

export function writeSession(t: Transaction, path: string, record: SessionRecord): void {
  t.put(concat(prefixOf('session'), text(path)), encodeSession(record));
}

/**
 * The child has left for good: whoever comes by its name is compared with no start of a former one. Session sequences go on, so that what is left of a former
 * session commits nothing.
 */
export function forgetStarts(t: Transaction, path: string): void {
  const known = readSession(t, path);
  if (known) writeSession(t, path, { ...known, bootCounter: 0, bootNonce: '', attachSequence: 0 });
}

/** For every commit of a session: throws once another one has taken its place. Bytes against bytes, since it is asked so often. */
export function fenceOf(path: string, record: SessionRecord): (t: Transaction) => void {
  const key = concat(prefixOf('session'), text(path));
  const own = encodeSession(record);
  return (t) => {
    const current = t.get(key);
    if (current && equalBytes(current, own)) return;
    const { sessionSequence } = record;
    const newer = readSession(t, path)?.sessionSequence;
    throw new BanyanError('Conflict', `session ${sessionSequence} of "${path}" is over: ${newer} has taken its place`);
  };
}

function encodeSession(record: SessionRecord): Uint8Array {
  return text(JSON.stringify(record));
}
