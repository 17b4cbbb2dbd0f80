/**
 * The text of a join token: `banyan-join-1.NAME.SECRET.PIN`. A token admits one agent once. The agent's parent has a JoinToken object of this name, with a
 * hash of the secret. The pin identifies the authority of the tree. With the pin, the agent recognises its parent although it knows nothing else about the
 * tree yet.
 */

import { createHash, timingSafeEqual, type X509Certificate } from 'node:crypto';
import { cliCommand } from '../runtime/cli-command.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import { hex } from '../store/bytes.ts';
import { certificatesIn } from './pem-certificates.ts';

export interface JoinToken {
  /** The name of the JoinToken object. */
  readonly name: string;
  /** 256 random bits as base64url. Nobody can guess 256 bits, so a plain hash of the secret is safe. */
  readonly secret: string;
  /** SHA-256 of the authority's public key (SubjectPublicKeyInfo), in base64url: a pin as in RFC 7469. */
  readonly pin: string;
}

const begin = 'banyan-join-1';
const nameForm = /^[a-z0-9]{10}$/;
const hashForm = /^[A-Za-z0-9_-]{43}$/;
const secretBytes = 32;

/** Makes a token for the tree with the authorities `caPem`. The pin is the pin of the first authority. */
export function newJoinToken(caPem: string, random: Random): JoinToken {
  const [authority] = certificatesIn(caPem);
  if (!authority) throw new BanyanError('Invalid', 'the authority of the tree is no certificate in PEM');
  return {
    name: hex(random.bytes(5)),
    secret: Buffer.from(random.bytes(secretBytes)).toString('base64url'),
    pin: pinOf(authority),
  };
}

export function writeJoinToken({ name, secret, pin }: JoinToken): string {
  return [begin, name, secret, pin].join('.');
}

/** Reads the text of a token. Throws BadRequest with the mistake, but without any part of the secret. `where` names the place from which the text came. */
export function readJoinToken(text: string, where: string): JoinToken {
  const wrong = (why: string) =>
    new BanyanError('BadRequest', `${where}: ${why}; ${cliCommand('join-token')} prints one`);
  const [first, name = '', secret = '', pin = '', ...more] = text.trim().split('.');
  if (first !== begin) throw wrong(`the text is no join token: a join token begins with ${begin}.`);
  if (more.length > 0 || !isJoinName(name) || !isJoinSecret(secret) || !hashForm.test(pin)) {
    throw wrong('a part of the join token is missing or has another length: was all of it copied?');
  }
  return { name, secret, pin };
}

export function isJoinName(text: string): boolean {
  return nameForm.test(text);
}

export function isJoinSecret(text: string): boolean {
  return hashForm.test(text);
}

/** The hash of the secret. The relay stores this hash instead of the secret. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** True if the hash is the hash of this secret. The comparison always takes the same time, so that the time reveals nothing about the hash. */
export function isSecretOf(secret: string, hash: string): boolean {
  return timingSafeEqual(createHash('sha256').update(secret).digest(), digestOf(hash));
}

/** The certificates of the bundle that have the pinned key. Anybody may have sent the bundle, so the caller trusts a certificate only because of the pin. */
export function pinned(bundle: string, pin: string): string[] {
  try {
    return certificatesIn(bundle)
      .filter((one) => pinOf(one) === pin)
      .map((one) => one.toString());
  } catch {
    return [];
  }
}

function pinOf({ publicKey }: X509Certificate): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');
}

function digestOf(hash: string): Buffer {
  const bytes = Buffer.from(hash, 'hex');
  return bytes.length === 32 ? bytes : Buffer.alloc(32);
}
