/** Keeps the last good keys of each issuer in the store: a node that starts while an issuer is away must not lock people out who have a valid token. */
import type { JSONWebKeySet } from 'jose';
import { asText, concat, text } from '../store/bytes.ts';
import { prefixOf } from '../store/keyspace.ts';
import type { Store } from '../store/store.ts';

export interface KeptKeys {
  read(issuer: string): JSONWebKeySet | undefined;
  /** Throws StoreFull if the disk has no room. */
  write(issuer: string, keys: JSONWebKeySet): void;
}

export function keptKeys(store: Store): KeptKeys {
  const keyOf = (issuer: string) => concat(prefixOf('issuerKeys'), text(issuer));
  return {
    read(issuer) {
      const stored = store.read((reader) => reader.get(keyOf(issuer)));
      return stored && (JSON.parse(asText(stored)) as JSONWebKeySet);
    },
    write(issuer, keys) {
      store.write((t) => t.put(keyOf(issuer), text(JSON.stringify(keys))));
    },
  };
}
