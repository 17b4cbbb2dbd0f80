/** Answers in protobuf are made from the JSON of the answer, at the last moment: everything before, such as the audit, reads JSON. */
import { parseJson } from '../../object/json.ts';
import { encodeProtobuf } from '../protobuf/encode.ts';
import { protobufType } from './negotiate.ts';
import type { ApiResponse } from './requests.ts';

/** The media type of a watch in protobuf. */
export const protobufWatchType = `${protobufType};stream=watch`;

/** The answer as the client gets it. Stays JSON if the kind of the object has no protobuf form. */
export function sentForm(answer: ApiResponse): ApiResponse {
  const bytes = answer.inProtobuf ? protobufOf(answer.body) : undefined;
  return bytes ? { ...answer, body: bytes, headers: { ...answer.headers, 'content-type': protobufType } } : answer;
}

/** The JSON of one object as protobuf. */
export function protobufOf(json: Uint8Array): Buffer | undefined {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');
  return encodeProtobuf(parseJson(text) as Record<string, unknown>);
}
