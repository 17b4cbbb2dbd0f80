/** The place where a node keeps the identity that it got with a join token: everything that it needs to continue without the token. */

/** An identity. All parts are PEM. Only a relay has an issuer. */
export interface Identity {
  readonly caPem: string;
  /** The node's own certificate, followed by the certificates of the issuers above. */
  readonly certPem: string;
  readonly keyPem: string;
  /** The certificate with which the relay signs for its subtree, for the same key, followed by the certificates of the issuers above. */
  readonly issuerPem?: string | undefined;
}

/** An identity as a store has it: any part may be missing. */
export interface StoredIdentity extends Partial<Identity> {
  /** The key for which an agent with another path asks a certificate. The identity for its former path stays until the agent has the certificate. */
  readonly nextKeyPem?: string | undefined;
}

/** The names of the parts in a Secret of type kubernetes.io/tls. The certificate is written last: when it is there, the identity is complete. */
export const nameOfPart = {
  keyPem: 'tls.key',
  nextKeyPem: 'next.key',
  caPem: 'ca.crt',
  issuerPem: 'issuer.crt',
  certPem: 'tls.crt',
} as const satisfies Record<keyof StoredIdentity, string>;
export const storedParts = Object.keys(nameOfPart) as readonly (keyof StoredIdentity)[];

export interface IdentityStore {
  /** The name of the place, for messages. */
  readonly shown: string;
  /** Reads the identity. Undefined: nothing is stored yet. If only the key is stored, the node has no certificate for it yet. */
  read(): Promise<StoredIdentity | undefined>;
  /**
   * Stores this key unless the store has a key, and returns the stored key. So all nodes that share the store ask for a certificate of the same key, and one
   * join token, which is valid for one key, is enough for all of them. `formerKeyPem`: the key for another path, which does not count. The new key is stored
   * beside it.
   */
  settleKey(keyPem: string, formerKeyPem?: string): Promise<string>;
  /** Stores the identity, and its key is no longer the next one. It is on disk when the promise resolves. */
  keep(identity: Identity): Promise<void>;
}

/** The key that the nodes with this store have settled on, or the part in which the first of them stores its key. */
export function settledKey(
  { keyPem, nextKeyPem }: StoredIdentity,
  formerKeyPem: string | undefined,
): { readonly settled: string } | { readonly part: 'keyPem' | 'nextKeyPem' } {
  if (keyPem === undefined) return { part: 'keyPem' };
  if (keyPem !== formerKeyPem) return { settled: keyPem };
  return nextKeyPem === undefined ? { part: 'nextKeyPem' } : { settled: nextKeyPem };
}
