/** A whole answer in protobuf or YAML is made from the JSON of the answer, at the last moment: everything before, such as the audit, reads JSON. */
import { parseBody } from '../../object/canonical.ts';
import { encodeProtobuf } from '../protobuf/encode.ts';
import type { Handled } from './handler.ts';
import { type Encoding, protobufType, yamlType } from './negotiate.ts';
import type { ApiRequest, ApiResponse } from './requests.ts';
import { yamlText } from './yaml-answer.ts';

/** The media type of a watch in protobuf. */
export const protobufWatchType = `${protobufType};stream=watch`;

/** To parse and to encode an answer of this length takes 3 ms. */
const shortBytesMax: Readonly<Record<Encoding, number>> = {
  json: Number.POSITIVE_INFINITY,
  protobuf: 64 * 1024,
  yaml: 4 * 1024,
};

const mediaTypes: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  protobuf: protobufType,
  yaml: yamlType,
};

/** The JSON of an object in another encoding. Undefined: its kind has no such form. */
export function encodedBytes(encoding: Encoding, json: Uint8Array): Buffer | undefined {
  if (encoding === 'json') return undefined;
  const object = parseBody(json);
  return encoding === 'yaml' ? Buffer.from(yamlText(object)) : encodeProtobuf(object);
}

/**
 * A long answer is encoded in the other thread: protobuf of 1 MB takes 60 ms, and YAML 600 ms. If its kind has no such form, the answer stays JSON. Throws
 * TooLarge if the encoded answer is too long.
 */
export async function encoded(handled: Handled, { thread }: ApiRequest): Promise<Handled> {
  if (!('answer' in handled)) return handled;
  const { answer } = handled;
  const { encoding = 'json', body } = answer;
  if (isShort(answer)) return handled;
  const bytes = thread ? await thread.encode(encoding, body) : encodedBytes(encoding, body);
  return { answer: { ...answer, ...(bytes ? { encoded: bytes } : { encoding: 'json' }) } };
}

/** The answer as the client gets it. Stays JSON if the kind of the object has no such form, or if the answer is long and `encoded` has not encoded it. */
export function sentForm(answer: ApiResponse): ApiResponse {
  const { encoding = 'json', body, headers } = answer;
  const bytes = answer.encoded ?? (isShort(answer) ? encodedBytes(encoding, body) : undefined);
  return bytes ? { ...answer, body: bytes, headers: { ...headers, 'content-type': mediaTypes[encoding] } } : answer;
}

function isShort({ encoding = 'json', body }: ApiResponse): boolean {
  return body.length <= shortBytesMax[encoding];
}
