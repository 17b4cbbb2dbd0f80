/** Decides who may open a stream that passes through a node or ends there. Each node on the way decides by its own rules. */
import type { Requester } from '../access/attributes.ts';
import { childPath } from '../identity/node-path.ts';
import type { RequestOrigin, StreamRequest } from './stream.ts';
import { vouchedUser, wrongVoucher } from './vouching.ts';

export interface StreamRulesPorts {
  /** The path of this node. */
  readonly path: string;
  /** Whether children may ask for streams to nodes that are not below them. */
  readonly fromBelow: boolean;
  /** Kinds of streams about objects of the node above: the node above has decided about the user. */
  readonly authorizedAbove?: readonly string[];
  /** Why the user of another node may not have the stream. Undefined: the user may. */
  refusal(user: Requester, request: StreamRequest): string | undefined;
}

export type StreamRules = (request: StreamRequest, origin: RequestOrigin, child?: string) => string | undefined;

/** Returns why a stream is forbidden. The API of this node has already decided about the streams that begin here. */
export function streamRules({ path, fromBelow, authorizedAbove = [], refusal }: StreamRulesPorts): StreamRules {
  return (request, origin, child) => {
    if (origin === 'here') return undefined;
    if (origin === 'below' && !fromBelow) {
      return 'streams from below are not taken here: ask a node further up, or set streams.fromBelow in its configuration';
    }
    const sender = child === undefined ? undefined : childPath(path, child);
    const forged = wrongVoucher(request.voucher, path, sender);
    if (forged !== undefined) return forged;
    if (origin === 'above' && authorizedAbove.includes(request.kind)) return undefined;
    return refusal(vouchedUser(request, path), request);
  };
}
