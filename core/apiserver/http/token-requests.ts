/** Answers requests for tokens of ServiceAccounts: `kubectl create token`. Only the system space of a node, and an embedded cluster, have such tokens. */
import type { GivenTokenSpec } from '../../authentication/token-request.ts';
import { requestObject } from './request-object.ts';
import type { TokenUsers } from './request-users.ts';
import { type ApiRequest, type ApiResponse, jsonResponse } from './requests.ts';
import { decodePart } from './route.ts';

export interface TokenIssuer extends TokenUsers {
  /** `spec`: of a TokenRequest, with the right types. Returns the TokenRequest with its status. Throws NotFound, Invalid, Conflict and BadRequest. */
  issue(namespace: string, name: string, spec: GivenTokenSpec): Promise<object>;
}

const tokenRequestKind = {
  kind: 'TokenRequest',
  apiVersion: 'authentication.k8s.io/v1',
  type: 'io.k8s.api.authentication.v1.TokenRequest',
};

const path = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/;

/** Undefined: this is another request. The caller has checked that the user may create the token. */
export async function tokenAnswerOf(request: ApiRequest, issuer: TokenIssuer): Promise<ApiResponse | undefined> {
  const [, namespace, name] = path.exec(request.path) ?? [];
  if (namespace === undefined || name === undefined || request.method !== 'POST') return undefined;
  const { spec } = await requestObject(request, tokenRequestKind);
  return jsonResponse(201, await issuer.issue(decodePart(namespace), decodePart(name), spec ?? {}));
}
