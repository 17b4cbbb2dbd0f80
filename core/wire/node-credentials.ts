/** PEM: the authority that is trusted, and the node's own certificate and key. */
export interface NodeCredentials {
  readonly caPem: Buffer;
  readonly certPem: Buffer;
  readonly keyPem: Buffer;
}
