/**
 * The text of a join token: `banyan-join-1.NAME.SECRET.PIN`. It admits an agent once. The relay that the agent attaches to has a JoinToken object of that name
 * with a hash of the secret; the pin is that of the tree's authority, by which the agent knows its parent before it knows anything else.
 */

import { createHash, timingSafeEqual, X509Certificate } from 'node:crypto';
import { cliCommand } from '../runtime/cli-command.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import { hex } from '../store/bytes.ts';

export interface JoinToken {
  /** Of the JoinToken object. */
  readonly name: string;
  /** 256 random bits, as base64url: nobody guesses it, so that a plain hash of it gives nothing away. */
  readonly secret: string;
  /** SHA-256 of the authority's public key as SubjectPublicKeyInfo, as base64url; as RFC 7469 has it. */
  readonly pin: string;
}

const begin = 'banyan-join-1';
const nameForm = /^[a-z0-9]{10}$/;
const hashForm = /^[A-Za-z0-9_-]{43}$/;
const secretBytes = 32;
const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** For the tree whose authorities are `caPem`; it is the first of them that is pinned. */
export function newJoinToken(caPem: string, random: Random): JoinToken {
  const [authority] = authoritiesOf(caPem);
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

/** Throws BadRequest that says what is wrong and shows nothing of the secret. `where`: from where the text is. */
export function readJoinToken(text: string, where: string): JoinToken {
  const wrong = (why: string) =>
    new BanyanError('BadRequest', `${where}: ${why}; ${cliCommand('join-token')} prints one`);
  const [first, name = '', secret = '', pin = '', ...more] = text.trim().split('.');
  if (first !== begin) throw wrong(`it is no join token, which begins with ${begin}.`);
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

/** What the relay keeps of a secret. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** In the same time, whether and wherever they differ. */
export function isSecretOf(secret: string, hash: string): boolean {
  return timingSafeEqual(createHash('sha256').update(secret).digest(), digestOf(hash));
}

/** The certificates of a bundle with the pinned key, whoever has sent it; none of them is trusted for another reason than the pin. */
export function pinned(bundle: string, pin: string): string[] {
  try {
    return authoritiesOf(bundle)
      .filter((one) => pinOf(one) === pin)
      .map((one) => one.toString());
  } catch {
    return [];
  }
}

function authoritiesOf(pem: string): X509Certificate[] {
  return (pem.match(pemBlock) ?? []).map((one) => new X509Certificate(one));
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
