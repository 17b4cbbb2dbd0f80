/**
 * The keys of the tokens of a node's ServiceAccounts. A node makes its key when it needs one for the first time, and keeps the key in its store. The replicas of a
 * relay have a file with common keys, so that each of them takes the tokens of the others.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { hash128 } from '../object/hash.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import { asText, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Store } from '../store/store.ts';

export interface TokenKey {
  /** Names the key in the head of a token. */
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export interface TokenKeys {
  readonly signing: TokenKey;
  /** The keys whose tokens are good, with the signing one. */
  readonly accepted: readonly TokenKey[];
}

/** `file`: the common keys in PEM; the first one signs. Absent: the node's own key signs. Tokens of the own key stay good when a file comes later. */
export function tokenKeysIn(store: Store, file?: string): TokenKeys {
  const stored = store.read((reader) => reader.get(prefixOf('tokenKey')));
  const [first, ...others] = file === undefined ? [] : tokenKeysOf(file);
  if (first) return { signing: first, accepted: [first, ...others, ...(stored ? [keyOf(asText(stored))] : [])] };
  const pem = stored ? asText(stored) : makeTokenKey();
  if (!stored) store.write((t) => t.put(prefixOf('tokenKey'), text(pem)));
  const own = keyOf(pem);
  return { signing: own, accepted: [own] };
}

/** The keys in a PEM file. Throws BadRequest if there is none, or one that can't sign. */
export function tokenKeysOf(pem: string): TokenKey[] {
  const blocks = pem.match(/-----BEGIN (?:EC )?PRIVATE KEY-----[\s\S]+?-----END (?:EC )?PRIVATE KEY-----/g) ?? [];
  if (blocks.length === 0) throw new BanyanError('BadRequest', 'has no private key in PEM: make one with P-256');
  return blocks.map((block) => {
    try {
      const key = keyOf(block);
      if (key.privateKey.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
    } catch (cause) {
      throw new BanyanError(
        'BadRequest',
        `has a private key that can't be read: ${describeError(cause)}`,
        {},
        { cause },
      );
    }
    throw new BanyanError(
      'BadRequest',
      'has a private key that is not of the curve P-256: tokens are signed with ES256',
    );
  });
}

function keyOf(pem: string): TokenKey {
  const privateKey = createPrivateKey(pem);
  const publicKey = createPublicKey(privateKey);
  const id = Buffer.from(hash128(publicKey.export({ type: 'spki', format: 'der' }).toString('base64'))).toString('hex');
  return { id, privateKey, publicKey };
}

/** A new key in PEM. */
export function makeTokenKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
