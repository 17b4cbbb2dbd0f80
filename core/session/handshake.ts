/** Decides who may have a session, from what the parent has stored about the child, before anything else of the child is read. */

import { BanyanError } from '../runtime/errors.ts';
import { asText, concat, equalBytes, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { Hello } from '../wire/generated/mesh.ts';

/** The versions of the protocol that this node speaks. */
export const versionMin = 1;
export const versionMax = 1;
/** For messages. */
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
      /** The stored boot counter, if the Hello's is not higher. */
      readonly bootCounter?: number;
    };

/** The newest legitimate session of a child wins. A boot counter and a nonce distinguish a child from a copy of its store. */
export function admit(
  hello: Hello,
  expectedPath: string,
  stored: SessionRecord | undefined,
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
  if (stored && hello.bootCounter < stored.bootCounter)
    return {
      ...clone(hello, `an older start (${hello.bootCounter}, known ${stored.bootCounter})`),
      bootCounter: stored.bootCounter,
    };
  if (stored && hello.bootCounter === stored.bootCounter && bootNonce !== stored.bootNonce) {
    return {
      ...clone(hello, `another process with the same boot counter ${hello.bootCounter}`),
      bootCounter: stored.bootCounter,
    };
  }
  // A copy that starts again and again counts up beyond the boot counter of the original. But the copy names a nonce that was welcomed before the newest one
  // of the original. So does an original that was restored from a backup: it therefore waits until its old session is known to be dead.
  const attachedNonce = hello.attachedNonce.toString('hex');
  if (
    stored &&
    live &&
    hello.bootCounter > stored.bootCounter &&
    attachedNonce !== '' &&
    attachedNonce !== stored.bootNonce
  )
    return clone(hello, 'a copy of an older state of its store');
  const { bootCounter, attachSequence } = hello;
  const sessionSequence = (stored?.sessionSequence ?? 0) + 1;
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
 * The child has left for good. A new child with its name is not compared with any start of the former one. Session sequences continue, so that the remains of
 * a former session commit nothing.
 */
export function forgetStarts(t: Transaction, path: string): void {
  const stored = readSession(t, path);
  if (stored) writeSession(t, path, { ...stored, bootCounter: 0, bootNonce: '', attachSequence: 0 });
}

/** Checked in every commit of a session: throws when another session has taken its place. Compares the encoded bytes, because the check is so frequent. */
export function fenceOf(path: string, record: SessionRecord): (t: Transaction) => void {
  const key = concat(prefixOf('session'), text(path));
  const encoded = encodeSession(record);
  return (t) => {
    const current = t.get(key);
    if (current && equalBytes(current, encoded)) return;
    const { sessionSequence } = record;
    const newer = readSession(t, path)?.sessionSequence;
    throw new BanyanError('Conflict', `session ${sessionSequence} of "${path}" is over: ${newer} has taken its place`);
  };
}

function encodeSession(record: SessionRecord): Uint8Array {
  return text(JSON.stringify(record));
}
