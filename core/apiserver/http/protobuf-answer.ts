/** A whole answer in protobuf is made from the JSON of the answer, at the last moment: everything before, such as the audit, reads JSON. */
import { parseBody } from '../../object/canonical.ts';
import { encodeProtobuf } from '../protobuf/encode.ts';
import type { Handled } from './handler.ts';
import { protobufType } from './negotiate.ts';
import type { ApiRequest, ApiResponse } from './requests.ts';

/** The media type of a watch in protobuf. */
export const protobufWatchType = `${protobufType};stream=watch`;

/** To parse and to encode an answer of this length takes 3 ms. */
const shortBytesMax = 64 * 1024;

/** A long answer gets its protobuf in the other thread: an object of 1 MB takes 60 ms. If its kind has no such form, the answer stays JSON. */
export async function encoded(handled: Handled, { thread }: ApiRequest): Promise<Handled> {
  if (!thread || !('answer' in handled)) return handled;
  const { answer } = handled;
  if (!answer.inProtobuf || answer.body.length <= shortBytesMax) return handled;
  const protobuf = await thread.protobufOf(answer.body);
  return { answer: { ...answer, inProtobuf: false, ...(protobuf ? { encoded: protobuf } : {}) } };
}

/** The answer as the client gets it. Stays JSON if the kind of the object has no protobuf form. */
export function sentForm(answer: ApiResponse): ApiResponse {
  const bytes = answer.encoded ?? (answer.inProtobuf ? encodeProtobuf(parseBody(answer.body)) : undefined);
  return bytes ? { ...answer, body: bytes, headers: { ...answer.headers, 'content-type': protobufType } } : answer;
}
