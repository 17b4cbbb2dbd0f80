/**
 * Decodes `application/vnd.kubernetes.protobuf` bodies to JSON objects. A body is `k8s\0`, followed by a runtime.Unknown with the type and the bytes of the
 * object. The generated table of built-in types contains the names of the fields. Values that Go leaves out of JSON are left out here too.
 */

import { exactInteger, parseExactJson } from '../../object/json.ts';
import { checkJsonBounds, jsonValuesMax, tooManyValues } from '../../object/json-bounds.ts';
import { setField } from '../../object/json-value.ts';
import { parseApiVersion } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { type BuiltinField, type BuiltinType, builtinType, tableKinds } from '../builtin/types-table.ts';
import { numberedFields } from './numbered-fields.ts';
import { FieldBudget, type WireField, wireFields } from './wire-reader.ts';

const magic = Buffer.from('k8s\0');
/** No built-in type is nested this deeply. A JSON schema may be: one of so many levels must be sent as JSON. */
const depthMax = 64;
const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const schemaType = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';

/** The position of a message: its depth, and the budget that all messages of the body share. */
interface At {
  readonly depth: number;
  readonly budget: FieldBudget;
}

function below({ depth, budget }: At): At {
  return { depth: depth + 1, budget };
}

export function decodeProtobuf(body: Buffer): unknown {
  if (!body.subarray(0, 4).equals(magic)) {
    throw new BanyanError(
      'BadRequest',
      'the body is not what its content type says: Kubernetes\' protobuf begins with "k8s" and a zero byte',
    );
  }
  const budget = new FieldBudget(jsonValuesMax, tooManyValues);
  let apiVersion = '';
  let kind = '';
  let raw: Buffer | undefined;
  for (const field of wireFields(body.subarray(4), budget)) {
    if (field.number === 2) raw = field.bytes;
    if (field.number !== 1) continue;
    for (const meta of wireFields(field.bytes, budget)) {
      if (meta.number === 1) apiVersion = meta.bytes.toString('utf8');
      if (meta.number === 2) kind = meta.bytes.toString('utf8');
    }
  }
  if (!raw) throw new BanyanError('BadRequest', 'the protobuf body has no object');
  return { apiVersion, kind, ...message(raw, typeOf(apiVersion, kind), { depth: 0, budget }) };
}

function typeOf(apiVersion: string, kind: string): BuiltinType {
  const { group, version } = parseApiVersion(apiVersion);
  const known = tableKinds.find((entry) => entry.g === group && entry.v === version && entry.k === kind);
  if (known) return builtinType(known.t);
  if (kind === 'DeleteOptions' || kind === 'Status') return builtinType(metaTypes + kind);
  throw new BanyanError('BadRequest', `no kind "${kind}" of "${apiVersion}" is known in protobuf: send it as JSON`);
}

function message(bytes: Buffer, type: BuiltinType, at: At): Record<string, unknown> {
  if (at.depth > depthMax)
    throw new BanyanError('BadRequest', `the protobuf body is nested more than ${depthMax} levels deep`);
  const byNumber = numberedFields(type);
  const object: Record<string, unknown> = {};
  for (const field of wireFields(bytes, at.budget)) {
    const known = byNumber.get(field.number);
    if (!known) continue;
    if ('inlined' in known) {
      Object.assign(object, message(field.bytes, known.inlined, below(at)));
      continue;
    }
    const { name, field: of } = known;
    if (of.wireType.startsWith('[')) {
      // Each item is a separate field, and a body may have a million fields. So this code adds items to the list in place.
      object[name] ??= [];
      (object[name] as unknown[]).push(single(field, of.wireType.slice(1), at));
    } else if (of.wireType.startsWith('{')) {
      const [key, value] = mapEntry(field.bytes, of.wireType.slice(1), at);
      object[name] ??= {};
      setField(object[name] as Record<string, unknown>, key, value);
    } else {
      const value = single(field, of.wireType, at);
      if (!isLeftOut(value, of)) object[name] = value;
    }
  }
  return object;
}

/** True for values that Go leaves out of JSON: empty values with omitempty, and the zero time, which would be null. */
function isLeftOut(value: unknown, field: BuiltinField): boolean {
  if (value === null) return true;
  if (field.pointer || !field.omitEmpty) return false;
  return value === '' || value === 0 || value === false;
}

function mapEntry(bytes: Buffer, valueType: string, at: At): [string, unknown] {
  let key = '';
  let value: unknown = zeroOf(valueType);
  for (const field of wireFields(bytes, at.budget)) {
    if (field.number === 1) key = field.bytes.toString('utf8');
    if (field.number === 2) value = valueType.startsWith('[') ? undefined : single(field, valueType, at);
    if (field.number === 2 && valueType.startsWith('[')) value = listValue(field.bytes, valueType.slice(1), at);
  }
  return [key, value];
}

/** Used for a map of lists (UserInfo's extra): each list is a message with the items as field 1. */
function listValue(bytes: Buffer, itemType: string, at: At): unknown[] {
  return [...wireFields(bytes, at.budget)]
    .filter((field) => field.number === 1)
    .map((field) => single(field, itemType, at));
}

function zeroOf(wireType: string): unknown {
  if (wireType === 'string' || wireType === 'bytes') return '';
  if (wireType === 'bool') return false;
  return wireType.startsWith('int') ? 0 : {};
}

function single(field: WireField, wireType: string, at: At): unknown {
  if (wireType.startsWith('@')) return message(field.bytes, builtinType(wireType.slice(1)), below(at));
  switch (wireType) {
    case 'string':
      return field.bytes.toString('utf8');
    case 'bool':
      return field.value !== 0n;
    case 'int32':
    case 'int64':
      return exactInteger(BigInt.asIntN(64, field.value));
    case 'double': {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(field.value);
      return bytes.readDoubleLE();
    }
    case 'bytes':
      return field.bytes.toString('base64');
    case 'time':
      return time(field.bytes, 0, at);
    case 'microtime':
      return time(field.bytes, 6, at);
    case 'duration':
      return `${Number(int(field.bytes, 1, at)) / 1e9}s`;
    case 'quantity':
      return string(field.bytes, 1, at);
    case 'intstr':
      return int(field.bytes, 1, at) === 1n ? string(field.bytes, 3, at) : Number(int(field.bytes, 2, at));
    case 'raw':
    case 'fields':
    case 'json':
      return json(string(field.bytes, 1, at));
    default:
      return schemaOr(field.bytes, wireType, at);
  }
}

/** A part of a JSON schema that is either a schema or something else. In each message, the two have the numbers 1 and 2. */
function schemaOr(bytes: Buffer, wireType: string, at: At): unknown {
  const fields = [...wireFields(bytes, at.budget)];
  const schemaNumber = wireType === 'schemaOrBool' ? 2 : 1;
  const schemaOf = (field: WireField) => message(field.bytes, builtinType(schemaType), below(at));
  const schema = fields.find(({ number }) => number === schemaNumber);
  if (schema) return schemaOf(schema);
  const others = fields.filter(({ number }) => number !== schemaNumber);
  if (wireType === 'schemaOrBool') return others.some(({ value }) => value !== 0n);
  return others.map((field) => (wireType === 'schemaOrArray' ? schemaOf(field) : field.bytes.toString('utf8')));
}

function int(bytes: Buffer, number: number, { budget }: At): bigint {
  const found = [...wireFields(bytes, budget)].find((field) => field.number === number);
  return BigInt.asIntN(64, found?.value ?? 0n);
}

function string(bytes: Buffer, number: number, { budget }: At): string {
  return [...wireFields(bytes, budget)].find((field) => field.number === number)?.bytes.toString('utf8') ?? '';
}

/** The time in RFC 3339. null for Go's zero time, which is long before 1970. */
function time(bytes: Buffer, fractionDigits: number, at: At): string | null {
  const seconds = int(bytes, 1, at);
  const nanos = int(bytes, 2, at);
  if (bytes.length === 0 || seconds <= -62_135_596_800n) return null;
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return fractionDigits === 0 ? `${whole}Z` : `${whole}.${String(nanos).padStart(9, '0').slice(0, fractionDigits)}Z`;
}

function json(text: string): unknown {
  if (text === '') return null;
  checkJsonBounds(text);
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof BanyanError) throw error;
    throw new BanyanError('BadRequest', 'the protobuf body embeds something that is no JSON', {}, { cause: error });
  }
}
