/** How a parent handles requests for certificates. The relay passes this to its listener. */

import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { JoinAnswer, JoinRequest } from './join-messages.ts';

export interface Joins {
  /** Called before anything of a request with a token is read, because anybody may send one. Throws TooManyRequests. */
  admit(): void;
  /** PEM: the authorities that this node trusts. */
  authority(): string;
  /**
   * `from`: the address of the requester. Throws Unauthorized for a token that is not known here. Other errors reach only a requester who has the token's
   * secret.
   */
  join(request: JoinRequest, from: string): Promise<JoinAnswer>;
  /** Renews for the node that has shown its certificate with the key of this hash, and for that key alone. */
  renew(peer: PeerIdentity & { readonly key: string }, request: string): Promise<JoinAnswer>;
}
