/**
 * The compiled parts of a schema. A part is compiled when an object has a value there for the first time: a definition of a megabyte has 15,000 parts, and most
 * objects have few of them. To compile all of them at once would take 0.3 s.
 */
import { ownField } from '../../object/json-value.ts';
import type { SchemaProps } from './definition.ts';

/** The compiled schemas of `properties`. */
export class LazyParts<Part> {
  readonly #schemas: Readonly<Record<string, SchemaProps>>;
  readonly #compile: (schema: SchemaProps, name: string) => Part;
  readonly #parts = new Map<string, Part>();

  constructor(
    schemas: Readonly<Record<string, SchemaProps>> | undefined,
    compile: (schema: SchemaProps, name: string) => Part,
  ) {
    this.#schemas = schemas ?? {};
    this.#compile = compile;
  }

  /** Undefined: the schema has no such property. */
  get(name: string): Part | undefined {
    if (this.#parts.has(name)) return this.#parts.get(name);
    const schema = ownField(this.#schemas, name);
    if (schema === undefined) return undefined;
    const part = this.#compile(schema, name);
    this.#parts.set(name, part);
    return part;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#schemas, name);
  }

  names(): string[] {
    return Object.keys(this.#schemas);
  }
}

/** The schema and all schemas in it. Does not look into allOf, anyOf, oneOf and not. */
export function* schemasIn(schema: SchemaProps): Generator<SchemaProps> {
  const left = [schema];
  for (let next = left.pop(); next; next = left.pop()) {
    yield next;
    left.push(...partsOf(next));
  }
}

/** The schemas that fulfil the condition, and all schemas around them. Does not look into allOf, anyOf, oneOf and not. */
export function schemasWith(root: SchemaProps, fulfils: (schema: SchemaProps) => boolean): ReadonlySet<SchemaProps> {
  const found = new Set<SchemaProps>();
  const visit = (schema: SchemaProps): boolean => {
    let has = fulfils(schema);
    for (const below of partsOf(schema)) if (visit(below)) has = true;
    if (has) found.add(schema);
    return has;
  };
  visit(root);
  return found;
}

function partsOf({ properties, additionalProperties, items }: SchemaProps): SchemaProps[] {
  const parts = Object.values(properties ?? {});
  if (typeof additionalProperties === 'object') parts.push(additionalProperties);
  if (items) parts.push(items);
  return parts;
}
