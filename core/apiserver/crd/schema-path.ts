/** Follows a path of fields into a schema, such as `.spec.name` or `.spec['a.b']`. Paths of rules and selectable fields have this form. */
import { isRecord } from '../../runtime/is-record.ts';
import type { SchemaProps } from './definition.ts';

/** A quoted name, a delimiter, or a name. A quote without an end takes the rest: otherwise each later quote would search to the end again. */
const tokens = /'(?:[^'\\]|\\.)*'?|[.[\]]|[^.[\]]+/gs;

export interface FoundField {
  readonly path: readonly string[];
  readonly schema: SchemaProps;
}

/** A text is the mistake in the path, in the words of Kubernetes. `brackets`: names may also be in brackets. */
export function findField(text: string, root: SchemaProps, brackets: boolean): FoundField | string {
  const found = text.match(tokens) ?? [];
  const path: string[] = [];
  let schema = root;
  let index = 0;
  while (index < found.length) {
    const delimiter = found[index]!;
    const token = found[index + 1];
    if (delimiter !== '.' && delimiter !== '[') return `expected [ or . but got: ${delimiter}`;
    if (delimiter === '[' && !brackets) return 'array notation is not allowed';
    if (token === undefined) return 'unexpected end of JSON path';
    const name = delimiter === '.' ? token : unquoted(token);
    if (name === undefined) return `expected single quoted string but got ${token}`;
    const below = fieldOf(schema, name);
    if (!below) return 'does not refer to a valid field';
    if (delimiter === '[' && found[index + 2] !== ']') {
      const end = found[index + 2];
      return end === undefined ? 'unexpected end of JSON path' : `expected ] but got ${end}`;
    }
    path.push(name);
    schema = below;
    index += delimiter === '.' ? 2 : 3;
  }
  return { path, schema };
}

function unquoted(token: string): string | undefined {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) return undefined;
  return token.slice(1, -1).replace(/\\(.)/gs, '$1');
}

function fieldOf(schema: SchemaProps, name: string): SchemaProps | undefined {
  if (Object.keys(schema.properties ?? {}).length > 0) return propertyOf(schema, name);
  const { additionalProperties } = schema;
  return isRecord(additionalProperties) ? (additionalProperties as SchemaProps) : undefined;
}

/** A property of the schema, also if the name is one of the names that every object of JavaScript has. */
export function propertyOf({ properties = {} }: SchemaProps, name: string): SchemaProps | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}
