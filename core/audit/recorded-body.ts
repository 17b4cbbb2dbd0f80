/** The body of a request or an answer as an event has the body. */
import { parseJson } from '../object/json.ts';
import { isRecord } from '../runtime/is-record.ts';
import { confidentialText, isConfidentialBody } from './confidential.ts';

export interface RecordedBody {
  readonly object?: unknown;
  /** Present instead of the object: why the event has no object. */
  readonly cut?: string;
}

export function recordedBody(
  value: unknown,
  bytes: number,
  bytesMax: number,
  omitManagedFields: boolean,
): RecordedBody {
  if (bytes > bytesMax) return { cut: `${bytes} bytes, more than bodyBytesMax (${bytesMax})` };
  if (isConfidentialBody(value)) return { cut: confidentialText };
  return { object: omitManagedFields ? withoutManagedFields(value) : value };
}

/** A body in JSON. Another form, such as the text of a log, can't be an object of an event. */
export function recordedJson(body: Buffer, bytesMax: number, omitManagedFields: boolean): RecordedBody {
  if (body.length > bytesMax) return recordedBody(undefined, body.length, bytesMax, false);
  try {
    return recordedBody(parseJson(body.toString()), body.length, bytesMax, omitManagedFields);
  } catch {
    return { cut: 'no JSON' };
  }
}

/** Takes the managed fields out of an object, and out of the items of a list. The given value stays as it is. */
function withoutManagedFields(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { metadata, items } = value;
  const { managedFields: _, ...rest } = isRecord(metadata) ? metadata : {};
  return {
    ...value,
    ...(isRecord(metadata) ? { metadata: rest } : {}),
    ...(Array.isArray(items) ? { items: items.map(withoutManagedFields) } : {}),
  };
}
