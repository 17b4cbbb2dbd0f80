/** A whole answer in protobuf is made from the JSON of the answer, at the last moment: everything before, such as the audit, reads JSON. */
import { parseBody } from '../../object/canonical.ts';
import { encodeProtobuf } from '../protobuf/encode.ts';
import { protobufType } from './negotiate.ts';
import type { ApiResponse } from './requests.ts';

/** The media type of a watch in protobuf. */
export const protobufWatchType = `${protobufType};stream=watch`;

/** The answer as the client gets it. Stays JSON if the kind of the object has no protobuf form. */
export function sentForm(answer: ApiResponse): ApiResponse {
  const bytes = answer.inProtobuf ? encodeProtobuf(parseBody(answer.body)) : undefined;
  return bytes ? { ...answer, body: bytes, headers: { ...answer.headers, 'content-type': protobufType } } : answer;
}
