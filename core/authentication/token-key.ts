/** The key with which a node signs the tokens of its ServiceAccounts. The node makes the key when it needs one for the first time, and keeps it in its store. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { hash128 } from '../object/hash.ts';
import { asText, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Store } from '../store/store.ts';

export interface TokenKey {
  /** Names the key in the head of a token. */
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function tokenKeyIn(store: Store): TokenKey {
  const stored = store.read((reader) => reader.get(prefixOf('tokenKey')));
  const pem = stored ? asText(stored) : makeKey();
  if (!stored) store.write((t) => t.put(prefixOf('tokenKey'), text(pem)));
  const privateKey = createPrivateKey(pem);
  const publicKey = createPublicKey(privateKey);
  const id = Buffer.from(hash128(publicKey.export({ type: 'spki', format: 'der' }).toString('base64'))).toString('hex');
  return { id, privateKey, publicKey };
}

function makeKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
