/** The object in the body of a request that is no write: kinds such as Binding and TokenReview, which only requests have. */
import { messageValue } from '../../object/field-error.ts';
import { type KubeObject, parseApiVersion } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { checkTypes } from '../builtin/type-check.ts';
import { builtinType } from '../builtin/types-table.ts';
import { decodeProtobuf } from '../protobuf/decode.ts';
import { mediaTypeOf, parseRequestBody } from './body.ts';
import { type ApiRequest, header } from './requests.ts';

export interface RequestKind {
  readonly kind: string;
  readonly apiVersion: string;
  /** Its name in the table of types. */
  readonly type: string;
}

/** Each field has the type of its kind. Throws BadRequest with the words of Kubernetes. */
export async function requestObject(request: ApiRequest, { kind, apiVersion, type }: RequestKind): Promise<KubeObject> {
  const media = mediaTypeOf(header(request, 'content-type'));
  const body = await parseRequestBody(await request.body(), media, decodeProtobuf, request.readLongYaml);
  request.parsed?.(body);
  if (!isRecord(body))
    throw new BanyanError('BadRequest', `the body of the request must be one object of kind ${kind}`);
  const object = { apiVersion, kind, metadata: {}, ...body } as unknown as KubeObject;
  if (object.kind !== kind || !isRecord(object.metadata)) {
    const message = `${object.kind} in version ${messageValue(object.apiVersion)} cannot be handled as a ${kind}: send a ${kind} of ${apiVersion} with metadata`;
    throw new BanyanError('BadRequest', message);
  }
  checkTypes(object, builtinType(type), { kind, version: parseApiVersion(apiVersion).version });
  return object;
}
