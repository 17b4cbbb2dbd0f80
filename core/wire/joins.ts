/** Handles requests for certificates at a parent. The relay passes this to its listener. */

import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { JoinAnswer, JoinRequest } from './join-messages.ts';

export interface Joins {
  /** Called before any part of a request with a token is read, because anybody may send such a request. Throws TooManyRequests if there are too many. */
  admit(): void;
  /** The authorities that this node trusts, as PEM. */
  authority(): string;
  /**
   * Issues a certificate for a join token. `from` is the address of the requester. Throws Unauthorized if this node does not have the token. A requester
   * without the token's secret gets no other error.
   */
  join(request: JoinRequest, from: string): Promise<JoinAnswer>;
  /**
   * Renews the certificate of the node that has shown the certificate of `peer`. The new certificate is only for the key of that certificate.
   */
  renew(peer: PeerIdentity, request: string): Promise<JoinAnswer>;
}
