/** Checks that lists of type set and map have no item twice. Kubernetes runs this check after all others of the schema. */
import { stableStringify } from '../../object/canonical.ts';
import { duplicate, type FieldPath, formatPath } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { SchemaProps } from './definition.ts';
import { LazyParts, schemasWith } from './lazy-parts.ts';

type ListCheck = (value: unknown, path: FieldPath, causes: Cause[]) => void;

/** Undefined if the schema has no list of these types. */
export function compileListTypes(schema: SchemaProps): ListCheck | undefined {
  return compile(
    schema,
    schemasWith(schema, (one) => ownCheck(one) !== undefined),
  );
}

type Checked = ReadonlySet<SchemaProps>;

/** `checked`: the schemas that have a list of these types. */
function compile(schema: SchemaProps, checked: Checked): ListCheck | undefined {
  if (!checked.has(schema)) return undefined;
  const checks = [ownCheck(schema), itemsCheck(schema, checked), fieldsCheck(schema, checked)].filter(
    (check) => check !== undefined,
  );
  if (checks.length < 2) return checks[0];
  return (value, path, causes) => {
    for (const check of checks) check(value, path, causes);
  };
}

function ownCheck(schema: SchemaProps): ListCheck | undefined {
  if (schema['x-kubernetes-list-type'] === 'set') return uniqueCheck(identityOf, (item) => item);
  if (schema['x-kubernetes-list-type'] !== 'map') return undefined;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return uniqueCheck(keyIdentity(keys), (item) => keysOf(item, keys));
}

function itemsCheck({ items }: SchemaProps, checked: Checked): ListCheck | undefined {
  const check = items && compile(items, checked);
  return (
    check &&
    ((value, path, causes) => {
      if (!Array.isArray(value)) return;
      for (let index = 0; index < value.length; index++) {
        path.push(index);
        check(value[index], path, causes);
        path.pop();
      }
    })
  );
}

function fieldsCheck(
  { properties: fields, additionalProperties }: SchemaProps,
  checked: Checked,
): ListCheck | undefined {
  const properties = new LazyParts(fields, (property) => compile(property, checked));
  const others = typeof additionalProperties === 'object' ? compile(additionalProperties, checked) : undefined;
  if (!fields && !others) return undefined;
  return (value, path, causes) => {
    if (!isRecord(value)) return;
    for (const name in value) {
      const check = properties.get(name) ?? others;
      if (!check) continue;
      path.push(properties.get(name) ? name : `[${name}]`);
      check(value[name], path, causes);
      path.pop();
    }
  };
}

/**
 * Reports each item once that occurs several times. `identity` gives equal results for equal items. `shown` gives the part of an item that a message shows.
 */
function uniqueCheck(identity: (item: unknown) => unknown, shown: (item: unknown) => unknown): ListCheck {
  return (value, path, causes) => {
    if (!Array.isArray(value) || value.length < 2) return;
    const counts = new Map<unknown, number>();
    for (let index = 0; index < value.length; index++) {
      const key = identity(value[index]);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count === 2) causes.push(duplicate(formatPath([...path, index]), shown(value[index])));
    }
  };
}

/**
 * The identity of a scalar is the scalar itself. The identity of a structured value is a text that begins with a zero byte, so that it never equals a text
 * value.
 */
function identityOf(item: unknown): unknown {
  return typeof item === 'object' ? `\0${stableStringify(item)}` : item;
}

function keyIdentity(keys: readonly string[]): (item: unknown) => unknown {
  const [only] = keys;
  if (keys.length === 1 && only !== undefined) return (item) => (isRecord(item) ? identityOf(item[only]) : item);
  return (item) => identityOf(keysOf(item, keys));
}

function keysOf(item: unknown, keys: readonly string[]): unknown {
  if (!isRecord(item)) return item;
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]]));
}
