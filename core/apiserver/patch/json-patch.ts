/**
 * JSON Patch (RFC 6902) as the library of Kubernetes does it (evanphx/json-patch v4): an index may be negative and then counts from the end, and `replace` sets a
 * field that is not there. Clients rely on both, and no library for this language does them. An operation costs as much as its pointer is long and its list has items.
 */

import { jsonText } from '../../object/json.ts';
import { cloneJson, equalJson, ownField, setField } from '../../object/json-value.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { goTypeOf } from '../decoding.ts';
import { badRequest } from '../status-errors.ts';

/** The bound of the Kubernetes API server. A longer patch is probably a mistake. */
const operationsMax = 10_000;
/**
 * Characters of JSON that the `copy` operations of a patch may add, as in the Kubernetes API server. A patch that copies a value into itself doubles the
 * value each time.
 */
const copiedCharactersMax = 3 * 1024 * 1024;

interface Operation {
  readonly op: string;
  readonly path: string | undefined;
  readonly from: string | undefined;
  /** Null if the operation has none, as in Kubernetes. */
  readonly value: unknown;
}

/** A field of an object or an item of a list. */
interface Place {
  readonly owner: Record<string, unknown> | unknown[];
  readonly key: string;
}

/** Changes neither argument. Throws unless all operations succeed. */
export function applyJsonPatch(target: unknown, operations: unknown): unknown {
  const all = decode(operations);
  let document = cloneJson(target);
  let copied = 0;
  for (const operation of all) {
    if (operation.op === 'copy') {
      copied += jsonText(valueAt(placeOf(document, operation.from, operation)))?.length ?? 0;
      if (copied > copiedCharactersMax) throw copiesTooMuch(copied);
    }
    if (operation.path === '' && operation.op === 'replace') document = wholeDocument(operation);
    else perform(document, operation);
  }
  return document;
}

function decode(operations: unknown): Operation[] {
  // As in Kubernetes, null is a patch without operations.
  if (operations === null) return [];
  if (!Array.isArray(operations)) {
    throw unreadable(`json: cannot unmarshal ${goTypeOf(operations)} into Go value of type []handlers.jsonPatchOp`);
  }
  const all = (operations as unknown[]).map(decodeOne);
  if (all.length <= operationsMax) return all;
  const message = `Request entity too large: The allowed maximum operations in a JSON patch is ${operationsMax}, got ${all.length}`;
  throw new BanyanError('TooLarge', message);
}

function decodeOne(item: unknown): Operation {
  if (!isRecord(item) && item !== null) {
    throw unreadable(`json: cannot unmarshal ${goTypeOf(item)} into Go value of type handlers.jsonPatchOp`);
  }
  const text = (name: string): string | undefined => {
    const value = item?.[name] ?? undefined;
    if (value === undefined || typeof value === 'string') return value;
    throw unreadable(
      `json: cannot unmarshal ${goTypeOf(value)} into Go struct field jsonPatchOp.${name} of type string`,
    );
  };
  const [op = 'unknown', path, from] = [text('op'), text('path'), text('from')];
  return { op, path, from, value: item?.value ?? null };
}

function perform(document: unknown, operation: Operation): void {
  const { op, path, from, value } = operation;
  const at = (pointer: string | undefined) => placeOf(document, pointer, operation);
  switch (op) {
    case 'add':
      return add(at(path), cloneJson(value), operation);
    case 'remove':
      return void remove(at(path), operation);
    case 'replace':
      return replace(at(path), cloneJson(value), operation);
    case 'move': {
      const moved = remove(at(from), operation);
      return add(at(path), moved, operation);
    }
    case 'copy':
      return add(at(path), cloneJson(valueAt(at(from)) ?? null), operation);
    case 'test':
      return test(path === '' ? document : valueAt(at(path)), operation);
    default:
      throw rejected(`Unexpected kind: ${op}`);
  }
}

function placeOf(document: unknown, pointer: string | undefined, operation: Operation): Place {
  if (pointer === undefined) throw rejected(`${operation.op} operation failed to decode path`);
  // As in Kubernetes, the part before the first slash is nothing.
  const [, ...keys] = pointer.split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop();
  let owner = document;
  for (const key of keys) owner = isContainer(owner) ? valueAt({ owner, key }) : undefined;
  if (last === undefined || !isContainer(owner)) throw missing(operation, pointer);
  return { owner, key: last };
}

function isContainer(value: unknown): value is Place['owner'] {
  return typeof value === 'object' && value !== null;
}

/** Undefined: nothing is there. */
function valueAt({ owner, key }: Place): unknown {
  if (!Array.isArray(owner)) return ownField(owner, key);
  const index = indexOf(key, owner.length);
  return index === undefined ? undefined : owner[index];
}

/** Undefined: the key is no index of a list of this length. */
function indexOf(key: string, length: number): number | undefined {
  if (!/^[+-]?\d+$/.test(key)) return undefined;
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  return index >= 0 && index < length ? index : undefined;
}

function add({ owner, key }: Place, value: unknown, operation: Operation): void {
  if (!Array.isArray(owner)) return setField(owner, key, value);
  const index = key === '-' ? owner.length : indexOf(key, owner.length + 1);
  if (index === undefined) throw missing(operation, operation.path);
  owner.splice(index, 0, value);
}

function remove(place: Place, operation: Operation): unknown {
  const { owner, key } = place;
  const value = valueAt(place);
  if (value === undefined) throw missing(operation, operation.from ?? operation.path);
  if (Array.isArray(owner)) owner.splice(indexOf(key, owner.length)!, 1);
  else delete owner[key];
  return value;
}

function replace(place: Place, value: unknown, operation: Operation): void {
  const { owner, key } = place;
  if (!Array.isArray(owner)) return setField(owner, key, value);
  if (valueAt(place) === undefined) throw missing(operation, operation.path);
  owner[indexOf(key, owner.length)!] = value;
}

function test(value: unknown, { path, value: expected }: Operation): void {
  if (!equalJson(value ?? null, expected)) throw rejected(`testing value ${path} failed: test failed`);
}

function wholeDocument({ value }: Operation): unknown {
  if (!isContainer(value)) throw rejected('replace operation value must be object or array');
  return cloneJson(value);
}

function unreadable(why: string): BanyanError {
  return badRequest(`error decoding patch: ${why}`);
}

function missing({ op }: Operation, pointer: string | undefined): BanyanError {
  return rejected(`${op} operation does not apply: doc is missing path: ${pointer}`);
}

function copiesTooMuch(characters: number): BanyanError {
  return rejected(
    `Unable to complete the copy, the accumulated size increase of copy is ${characters}, exceeding the limit ${copiedCharactersMax}`,
  );
}

function rejected(why: string): BanyanError {
  return new BanyanError('Invalid', `the server rejected our request due to an error in our request: ${why}`);
}
