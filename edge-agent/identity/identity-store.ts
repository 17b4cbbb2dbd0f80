/** Where an agent keeps the identity that it got with a join token: what it needs to go on without it. */

/** PEM. */
export interface Identity {
  readonly caPem: string;
  /** Its own certificate, with that of the issuer behind it. */
  readonly certPem: string;
  readonly keyPem: string;
}

/** By the names of a Secret of type kubernetes.io/tls. The certificate is last: with it, the identity is whole. */
export const nameOfPart = { keyPem: 'tls.key', caPem: 'ca.crt', certPem: 'tls.crt' } as const satisfies Record<
  keyof Identity,
  string
>;
export const identityParts = Object.keys(nameOfPart) as readonly (keyof Identity)[];

export interface IdentityStore {
  /** For messages. */
  readonly shown: string;
  /** Undefined: nothing is kept yet. Only the key is there while no certificate was given for it. */
  read(): Promise<Partial<Identity> | undefined>;
  /**
   * Keeps this key unless there is one, and returns the one that is kept: whoever shares the store asks for a certificate of the same key, so that a join token,
   * which is good for one key, does for all of them.
   */
  settleKey(keyPem: string): Promise<string>;
  /** On the disk when it returns. */
  keep(identity: Identity): Promise<void>;
}
