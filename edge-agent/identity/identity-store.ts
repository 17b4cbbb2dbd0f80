/** Where an agent keeps the identity that it got with a join token: everything that it needs to continue without the token. */

/** PEM. */
export interface Identity {
  readonly caPem: string;
  /** The agent's own certificate, followed by the certificate of its issuer. */
  readonly certPem: string;
  readonly keyPem: string;
}

/** The names in a Secret of type kubernetes.io/tls. The certificate is the last part: with it, the identity is complete. */
export const nameOfPart = { keyPem: 'tls.key', caPem: 'ca.crt', certPem: 'tls.crt' } as const satisfies Record<
  keyof Identity,
  string
>;
export const identityParts = Object.keys(nameOfPart) as readonly (keyof Identity)[];

export interface IdentityStore {
  /** The name of the place, for messages. */
  readonly shown: string;
  /** Undefined: nothing is kept yet. If only the key is there, no certificate was given for it yet. */
  read(): Promise<Partial<Identity> | undefined>;
  /**
   * Keeps this key unless there is one, and returns the kept key. All agents that share the store then ask for a certificate of the same key. So one join
   * token, which is valid for one key, is enough for all of them.
   */
  settleKey(keyPem: string): Promise<string>;
  /** The identity is on disk when the promise resolves. */
  keep(identity: Identity): Promise<void>;
}
