/** Answers requests for tokens of ServiceAccounts: `kubectl create token`. Only the system space of a node, and an embedded cluster, have such tokens. */
import { decodeProtobuf } from '../protobuf/decode.ts';
import { mediaTypeOf, parseRequestBody } from './body.ts';
import type { TokenUsers } from './request-users.ts';
import { type ApiRequest, type ApiResponse, header, jsonResponse } from './requests.ts';
import { decodePart } from './route.ts';

export interface TokenIssuer extends TokenUsers {
  /** Returns the TokenRequest with its status. Throws NotFound, Invalid, Conflict and BadRequest. */
  issue(namespace: string, name: string, body: unknown): Promise<object>;
}

const path = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/;

/** Undefined: this is another request. The caller has checked that the user may create the token. */
export async function tokenAnswerOf(request: ApiRequest, issuer: TokenIssuer): Promise<ApiResponse | undefined> {
  const [, namespace, name] = path.exec(request.path) ?? [];
  if (namespace === undefined || name === undefined || request.method !== 'POST') return undefined;
  const media = mediaTypeOf(header(request, 'content-type'));
  const body = await parseRequestBody(await request.body(), media, decodeProtobuf, request.readLongYaml);
  return jsonResponse(201, await issuer.issue(decodePart(namespace), decodePart(name), body));
}
