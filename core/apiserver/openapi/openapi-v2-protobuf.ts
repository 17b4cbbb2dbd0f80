/**
 * Encodes an OpenAPI v2 document as protobuf, the only encoding that kubectl reads. Field numbers are those of the message `openapi.v2.Document`:
 * https://github.com/google/gnostic-models/blob/v0.7.0/openapiv2/OpenAPIv2.proto
 */

import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { jsonText } from '../../object/json.ts';
import type { DocumentV2, OperationV2, SchemaV2 } from './openapi-v2.ts';

/** The media type that clients request. A valid media type must not contain `@`, so the answer has a dot instead, as in Kubernetes. */
export const openapiV2Asked = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
export const openapiV2ContentType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

type Write = (writer: BinaryWriter) => void;

/** The pieces of the document. Most pieces are empty, because the length of all definitions stands before them: others can work after each piece. */
export function* encodeOpenapiV2({ swagger, info, paths, definitions }: DocumentV2): Generator<Uint8Array, void> {
  const encoded: Uint8Array[] = [];
  for (const [name, of] of definitions) {
    yield empty;
    const one = new BinaryWriter();
    named(one, 1, name, (value) => schema(value, of));
    encoded.push(one.finish());
    yield empty;
  }
  const writer = new BinaryWriter();
  text(writer, 1, swagger);
  message(writer, 2, (w) => {
    text(w, 1, info.title);
    text(w, 2, info.version);
  });
  message(writer, 8, (w) => {
    for (const [path, { patch }] of Object.entries(paths))
      named(w, 2, path, (item) => message(item, 8, (o) => operation(o, patch)));
  });
  writer.tag(9, 2).uint32(encoded.reduce((length, one) => length + one.length, 0));
  yield writer.finish();
  yield* encoded;
}

const empty = new Uint8Array();

function operation(writer: BinaryWriter, { operationId, parameters, ...rest }: OperationV2): void {
  text(writer, 5, operationId);
  for (const { name, in: place, type } of parameters) {
    // The nesting of a parameter: ParametersItem > Parameter > NonBodyParameter > QueryParameterSubSchema.
    nested(writer, [8, 1, 2, 3], (w) => {
      text(w, 2, place);
      text(w, 4, name);
      text(w, 6, type);
    });
  }
  nested(writer, [9, 1], (w) => {
    text(w, 1, '200');
    nested(w, [2, 1], (response) => text(response, 1, 'OK'));
  });
  extensions(writer, 13, rest);
}

function schema(writer: BinaryWriter, of: SchemaV2): void {
  const { $ref, format, description, required, additionalProperties, type, items, properties, ...rest } = of;
  if ($ref !== undefined) text(writer, 1, $ref);
  if (format !== undefined) text(writer, 2, format);
  if (description !== undefined) text(writer, 4, description);
  for (const name of required ?? []) text(writer, 19, name);
  if (additionalProperties) nested(writer, [21, 1], (w) => schema(w, additionalProperties));
  if (type !== undefined) message(writer, 22, (w) => text(w, 1, type));
  if (items) nested(writer, [23, 1], (w) => schema(w, items));
  if (properties) {
    message(writer, 25, (w) => {
      for (const [name, property] of Object.entries(properties)) named(w, 1, name, (value) => schema(value, property));
    });
  }
  extensions(writer, 31, rest);
}

/** Each extension is a NamedAny whose value is YAML. JSON is valid YAML. */
function extensions(writer: BinaryWriter, field: number, values: object): void {
  for (const [name, value] of Object.entries(values)) {
    if (name.startsWith('x-')) named(writer, field, name, (w) => text(w, 2, jsonText(value)));
  }
}

function named(writer: BinaryWriter, field: number, name: string, value: Write): void {
  message(writer, field, (w) => {
    text(w, 1, name);
    message(w, 2, value);
  });
}

function nested(writer: BinaryWriter, fields: readonly number[], write: Write): void {
  const [field, ...rest] = fields;
  if (field === undefined) write(writer);
  else message(writer, field, (w) => nested(w, rest, write));
}

function message(writer: BinaryWriter, field: number, write: Write): void {
  writer.tag(field, 2).fork();
  write(writer);
  writer.join();
}

function text(writer: BinaryWriter, field: number, value: string): void {
  writer.tag(field, 2).string(value);
}
