/**
 * Expands `%(name)` in the strings of an object. The value is a label of the Location, else an annotation of the Location, else a property of the
 * SyncTarget. `%%` becomes `%`.
 */
import { setField } from '../object/json-value.ts';
import { isRecord } from '../runtime/is-record.ts';
import { CustomizeError } from './customizer.ts';
import type { Recorder } from './reads.ts';

/** `grow` counts the characters of each inserted value, and throws if the sum is too large. Throws CustomizeError with the field of the object. */
export function expandParameters<T>(object: T, recorder: Recorder, grow: (characters: number) => void): T {
  return expandIn(object, '', recorder, grow) as T;
}

function expandIn(value: unknown, field: string, recorder: Recorder, grow: (characters: number) => void): unknown {
  if (typeof value === 'string')
    return value.includes('%') ? value.replace(parameter, (found, name) => replaced(found, name)) : value;
  if (Array.isArray(value)) return value.map((item, index) => expandIn(item, `${field}[${index}]`, recorder, grow));
  if (!isRecord(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value))
    setField(result, name, expandIn(inner, field === '' ? name : `${field}.${name}`, recorder, grow));
  return result;

  function replaced(found: string, name: string | undefined): string {
    if (found === '%%') return '%';
    if (name === undefined)
      throw new CustomizeError(field, '"%(" without its ")"; write "%%(" for the characters themselves');
    const text = parameterOf(name, recorder);
    if (text === undefined) {
      throw new CustomizeError(
        field,
        `"%(${name})" names no label and no annotation of the Location and no property of the SyncTarget here; add one, or write "%%(${name})" for the characters themselves`,
      );
    }
    grow(text.length);
    return text;
  }
}

const parameter = /%%|%\(([^()]*)\)|%\(/g;

function parameterOf(name: string, recorder: Recorder): string | undefined {
  return (
    recorder.text(['location', 'metadata', 'labels', name]) ??
    recorder.text(['location', 'metadata', 'annotations', name]) ??
    recorder.text(['properties', name])
  );
}
