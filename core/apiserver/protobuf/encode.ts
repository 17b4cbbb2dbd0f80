/**
 * Encodes objects of built-in kinds as `application/vnd.kubernetes.protobuf`, with the bytes that a Kubernetes API server sends for them. The reader
 * (decode.ts) has the format. Go writes the fields in the order of their numbers, and writes each field that is not a pointer, even if it is empty. A view shows
 * objects that another node has checked: a value of the wrong type is written as the empty value.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { isNumber, isWhole, jsonText } from '../../object/json.ts';
import { ownField } from '../../object/json-value.ts';
import { parseApiVersion } from '../../object/meta.ts';
import { compareText } from '../../object/text-order.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { type BuiltinField, type BuiltinType, builtinType, tableKinds } from '../builtin/types-table.ts';
import { numberedFields } from './numbered-fields.ts';

const magic = Buffer.from('k8s\0');
const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const schemaType = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';

type Fields = Record<string, unknown>;
type Write = (writer: BinaryWriter) => void;

/** Whether objects of this kind, and lists of them, can be encoded. */
export function hasProtobuf(apiVersion: string, kind: string): boolean {
  return writeOf(apiVersion, kind) !== undefined;
}

/** Undefined: the kind has no protobuf form. */
export function encodeProtobuf(object: object): Buffer | undefined {
  const { apiVersion = '', kind = '' } = object as Fields;
  const write = writeOf(String(apiVersion), String(kind));
  return write && enveloped(String(apiVersion), String(kind), (writer) => write(writer, object as Fields));
}

/** The list of already encoded items (`encodeItem`), in pieces of any length. */
export function encodeList(apiVersion: string, kind: string, metadata: object, items: readonly Uint8Array[]): Buffer {
  return enveloped(apiVersion, kind, (writer) => {
    message(writer, 1, (w) => writeType(w, builtinType(`${metaTypes}ListMeta`), metadata as Fields));
    for (const item of items) writer.raw(item);
  });
}

/** An object as the field of a list. The list names the kind for all of its items. The kind must have a protobuf form. */
export function encodeItem(object: object): Uint8Array {
  const writer = new BinaryWriter();
  const { apiVersion, kind } = object as Fields;
  const write = writeOf(String(apiVersion), String(kind))!;
  message(writer, 2, (w) => write(w, object as Fields));
  return writer.finish();
}

/** One event of a watch: its length in four bytes, then the type and the encoded object. */
export function encodeEvent(type: string, object: Uint8Array): Buffer {
  const writer = new BinaryWriter();
  text(writer, 1, type);
  message(writer, 2, (w) => w.tag(1, WireType.LengthDelimited).bytes(object));
  const event = writer.finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

function enveloped(apiVersion: string, kind: string, write: Write): Buffer {
  const writer = new BinaryWriter();
  message(writer, 1, (w) => {
    text(w, 1, apiVersion);
    text(w, 2, kind);
  });
  message(writer, 2, write);
  // The encoding and the type of the content, which are those of the envelope.
  text(writer, 3, '');
  text(writer, 4, '');
  return Buffer.concat([magic, writer.finish()]);
}

function writeOf(apiVersion: string, kind: string): ((writer: BinaryWriter, object: Fields) => void) | undefined {
  const type = typeOf(apiVersion, kind);
  if (type) return (writer, object) => writeType(writer, type, object);
  const { group } = parseApiVersion(apiVersion);
  if (group === 'meta.k8s.io' && kind === 'PartialObjectMetadata') return writePartial;
  const itemKind = kind.endsWith('List') ? kind.slice(0, -'List'.length) : '';
  const writeItem = itemKind && writeOf(apiVersion, itemKind);
  if (!writeItem) return undefined;
  return (writer, { metadata, items }) => {
    message(writer, 1, (w) => writeType(w, builtinType(`${metaTypes}ListMeta`), fieldsOf(metadata)));
    for (const item of listOf(items)) message(writer, 2, (w) => writeItem(w, fieldsOf(item)));
  };
}

const kinds = new Map(tableKinds.map(({ g, v, k, t }) => [`${g === '' ? v : `${g}/${v}`} ${k}`, t]));

function typeOf(apiVersion: string, kind: string): BuiltinType | undefined {
  const name = kind === 'Status' && apiVersion === 'v1' ? `${metaTypes}Status` : kinds.get(`${apiVersion} ${kind}`);
  return name === undefined ? undefined : builtinType(name);
}

function writePartial(writer: BinaryWriter, { metadata }: Fields): void {
  message(writer, 1, (w) => writeType(w, builtinType(`${metaTypes}ObjectMeta`), fieldsOf(metadata)));
}

function writeType(writer: BinaryWriter, type: BuiltinType, object: Fields): void {
  for (const [number, one] of numberedFields(type)) {
    if ('inlined' in one) message(writer, number, (w) => writeType(w, one.inlined, object));
    else writeField(writer, number, one.field, ownField(object, one.name) ?? undefined);
  }
}

function writeField(writer: BinaryWriter, number: number, { wireType, pointer }: BuiltinField, value: unknown): void {
  if (wireType.startsWith('[')) {
    for (const item of listOf(value)) single(writer, number, wireType.slice(1), item);
  } else if (wireType.startsWith('{')) {
    for (const [key, item] of Object.entries(fieldsOf(value)).sort(([a], [b]) => compareText(a, b)))
      message(writer, number, (w) => {
        text(w, 1, key);
        mapValue(w, wireType.slice(1), item);
      });
  } else if (value !== undefined || (!pointer && wireType !== 'bytes')) {
    single(writer, number, wireType, value);
  }
}

/** In a map of lists (UserInfo's extra), each list is a message with the items as field 1. */
function mapValue(writer: BinaryWriter, wireType: string, value: unknown): void {
  if (!wireType.startsWith('[')) return single(writer, 2, wireType, value);
  message(writer, 2, (w) => {
    for (const item of listOf(value)) single(w, 1, wireType.slice(1), item);
  });
}

/** `undefined` and null are the empty value. */
function single(writer: BinaryWriter, number: number, wireType: string, value: unknown): void {
  if (wireType.startsWith('@'))
    return message(writer, number, (w) => writeType(w, builtinType(wireType.slice(1)), fieldsOf(value)));
  switch (wireType) {
    case 'string':
      return text(writer, number, textOf(value));
    case 'bool':
      return void writer.tag(number, WireType.Varint).bool(value === true);
    case 'int32':
    case 'int64':
      return integer(writer, number, value);
    case 'double':
      return void writer.tag(number, WireType.Bit64).double(isNumber(value) ? Number(value) : 0);
    case 'bytes':
      return void writer.tag(number, WireType.LengthDelimited).bytes(Buffer.from(textOf(value), 'base64'));
    default:
      return message(writer, number, (w) => special(w, wireType, value));
  }
}

/** The types with a form of their own in JSON. */
function special(writer: BinaryWriter, wireType: string, value: unknown): void {
  switch (wireType) {
    case 'time':
    case 'microtime':
      return typeof value === 'string' ? time(writer, value, wireType === 'microtime') : undefined;
    case 'quantity':
      return text(writer, 1, textOf(value ?? '0'));
    case 'intstr':
      integer(writer, 1, typeof value === 'string' ? 1 : 0);
      integer(writer, 2, typeof value === 'string' ? 0 : value);
      return text(writer, 3, typeof value === 'string' ? value : '');
    case 'raw':
    case 'fields':
    case 'json':
      return value === undefined ? undefined : text(writer, 1, jsonText(value));
    default:
      return schemaOr(writer, wireType, value);
  }
}

function schemaOr(writer: BinaryWriter, wireType: string, value: unknown): void {
  const isSchema = isRecord(value);
  const schema = (number: number, of: unknown) =>
    message(writer, number, (w) => writeType(w, builtinType(schemaType), fieldsOf(of)));
  if (wireType === 'schemaOrBool') {
    writer.tag(1, WireType.Varint).bool(isSchema || value === true);
    if (isSchema) schema(2, value);
  } else if (isSchema) {
    schema(1, value);
  } else {
    for (const item of listOf(value)) {
      if (wireType === 'schemaOrArray') schema(2, item);
      else text(writer, 2, textOf(item));
    }
  }
}

const millisPerSecond = 1_000;

/** Go keeps whole seconds of a time, and the first six digits of a time with fractions. */
function time(writer: BinaryWriter, value: string, hasFraction: boolean): void {
  const millis = Date.parse(value);
  if (Number.isNaN(millis)) return;
  const fraction = hasFraction ? (/\.(\d+)/.exec(value)?.[1] ?? '') : '';
  integer(writer, 1, Math.floor(millis / millisPerSecond));
  integer(writer, 2, Number(fraction.slice(0, 6).padEnd(6, '0')) * millisPerSecond);
}

function message(writer: BinaryWriter, number: number, write: Write): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
}

function text(writer: BinaryWriter, number: number, value: string): void {
  writer.tag(number, WireType.LengthDelimited).string(value);
}

function integer(writer: BinaryWriter, number: number, value: unknown): void {
  writer.tag(number, WireType.Varint).int64(isWhole(value) ? BigInt.asIntN(64, BigInt(value)) : 0);
}

/** The text of a scalar. */
function textOf(value: unknown): string {
  return value === null || typeof value === 'object' ? '' : String(value ?? '');
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
