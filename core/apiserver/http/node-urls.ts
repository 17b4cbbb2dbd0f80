/** URLs of a node beside its spaces: the node's own documents, and requests to other nodes of the tree. */
import type { Ask } from '../../stream/pass-on.ts';
import type { UserInfo } from '../space.ts';
import type { ApiRequest, ApiResponse, StreamedResponse } from './requests.ts';

/**
 * Answers a request if its path is one of the node's own URLs. Undefined: the path is another one. `signal` is aborted when the client closes the connection, or
 * when the server ends.
 */
export type NodeUrls = (
  request: ApiRequest,
  signal: AbortSignal,
) => Promise<ApiResponse | StreamedResponse> | undefined;

export interface TreeUrls {
  answer(request: ApiRequest): Promise<ApiResponse>;
  /**
   * The next hop for a request: the stream on which the server passes the request on, and the target there. `target` is the encoded path and query.
   * Undefined: `answer` serves the request. Throws NotFound.
   */
  way(target: string, user: UserInfo): { readonly target: string; readonly ask: Ask } | undefined;
}
