/** Decides whether a child may have a session. The decision compares the Hello with the stored record of the child, before other data of the child are read. */

import { BanyanError } from '../runtime/errors.ts';
import { asText, concat, equalBytes, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Reader, Transaction } from '../store/store.ts';
import type { Hello } from '../wire/generated/mesh.ts';

/** The versions of the protocol that this node speaks. */
export const versionMin = 1;
export const versionMax = 1;
/** The versions of this node, as a text for messages. */
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
  /** The child has a session at this parent, as far as the parent knows. */
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
  // If a copy of the store starts often, its boot counter exceeds the original's. But the copy sends an older attached nonce than the original, so it is
  // refused. An original that was restored from a backup also sends an older nonce: it is refused until the parent has noticed the end of its old session.
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
 * Runs when a child was removed for good. A new child with the same name is then not compared with the starts of the old child. The session sequence stays and
 * continues, so that an old session that is still open cannot commit anything.
 */
export function forgetStarts(t: Transaction, path: string): void {
  const stored = readSession(t, path);
  if (stored) writeSession(t, path, withoutStarts(stored));
}

export function withoutStarts(record: SessionRecord): SessionRecord {
  return { ...record, bootCounter: 0, bootNonce: '', attachSequence: 0 };
}

/**
 * Makes the check that runs in every transaction of a session: it throws if another session of the child has taken over. The check compares the encoded
 * bytes, without parsing, because it runs so often.
 */
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
