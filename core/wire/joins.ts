/** What a parent does with requests for certificates; the relay gives it to its listener. */

import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { JoinAnswer, JoinRequest } from './join-messages.ts';

export interface Joins {
  /** Before anything of a request with a token is read: anybody may send one. Throws TooManyRequests. */
  admit(): void;
  /** PEM: what this node trusts. */
  authority(): string;
  /** `from`: the address that it came from. Throws Unauthorized for a token that is not known here, and other errors only to who has its secret. */
  join(asked: JoinRequest, from: string): Promise<JoinAnswer>;
  /** For the node that has shown its certificate, of the key with this hash, and for that key alone. */
  renew(peer: PeerIdentity & { readonly key: string }, request: string): Promise<JoinAnswer>;
}
