/** Answers questions of users about themselves: `kubectl auth whoami` and `kubectl auth can-i`. */

import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { decodeProtobuf } from '../protobuf/decode.ts';
import { mediaTypeOf, parseRequestBody } from './body.ts';
import { type ApiRequest, type ApiResponse, header, jsonResponse } from './requests.ts';

const paths = {
  '/apis/authentication.k8s.io/v1/selfsubjectreviews': 'SelfSubjectReview',
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews': 'SelfSubjectAccessReview',
} as const;

/**
 * The answer to a question of a user about themselves. Undefined if the request is another one. Every authenticated user may do everything: see
 * docs/decisions.
 */
export async function whoIsAsking(request: ApiRequest): Promise<ApiResponse | undefined> {
  const kind = paths[request.path as keyof typeof paths];
  if (!kind || request.method !== 'POST') return undefined;
  const media = mediaTypeOf(header(request, 'content-type'));
  const body = await parseRequestBody(await request.body(), media, decodeProtobuf, request.readLongYaml);
  if (!isRecord(body))
    throw new BanyanError('BadRequest', `the body of the request must be one object of kind ${kind}`);
  if (kind === 'SelfSubjectAccessReview') {
    const status = { allowed: true, reason: 'members of system:masters may do everything' };
    return jsonResponse(201, {
      kind,
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: body.spec ?? {},
      status,
    });
  }
  const status = { userInfo: { username: request.user.name, groups: request.user.groups } };
  return jsonResponse(201, { kind, apiVersion: 'authentication.k8s.io/v1', metadata: {}, status });
}
