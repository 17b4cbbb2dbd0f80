/**
 * JSON Patch (RFC 6902). A library applies it; this file adds the bounds and the errors of the Kubernetes API server. This file also does the operation
 * `test`. The library would compute the smallest difference of two lists, which costs time and memory proportional to the product of their lengths. But a
 * test needs to know only whether the values are equal.
 */

import { applyPatch, type Operation } from 'rfc6902';
import { jsonText } from '../../object/json.ts';
import { cloneJson, equalJson, ownField } from '../../object/json-value.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { badRequest } from '../status-errors.ts';

/** The bound of the Kubernetes API server. A longer patch is probably a mistake. */
const operationsMax = 10_000;
/**
 * Characters of JSON that the `copy` operations of a patch may add, as in the Kubernetes API server. A patch that copies a value into itself doubles the
 * value each time.
 */
const copiedCharactersMax = 3 * 1024 * 1024;

/** Changes neither argument. Throws unless all operations succeed. */
export function applyJsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('error decoding patch: a JSON patch must be a list of operations');
  if (operations.length > operationsMax) {
    const message = `Request entity too large: The allowed maximum operations in a JSON patch is ${operationsMax}, got ${operations.length}`;
    throw new BanyanError('TooLarge', message);
  }
  const result = cloneJson(target);
  let copied = 0;
  for (const item of operations as unknown[]) {
    const operation = decode(item);
    const value = operandOf(result, operation);
    if (operation.op === 'test') {
      if (!equalJson(value, operation.value)) throw rejected(operation, new Error('the value is different'));
      continue;
    }
    if (operation.op === 'copy') {
      copied += jsonText(value)?.length ?? 0;
      if (copied > copiedCharactersMax) throw copiesTooMuch(copied);
    }
    const [error] = applyPatch(result, [operation]);
    if (error) throw rejected(operation, error);
  }
  return result;
}

function decode(item: unknown): Operation {
  if (!isRecord(item) || typeof item.path !== 'string') {
    throw badRequest(`error decoding patch: not an operation with a path: ${jsonText(item)}`);
  }
  const { op, path, from } = item;
  checkPointer(path);
  switch (op) {
    case 'remove':
      return { op, path };
    case 'move':
    case 'copy':
      if (typeof from !== 'string') throw badRequest(`error decoding patch: ${op} ${path} has no "from"`);
      checkPointer(from);
      return { op, path, from };
    case 'add':
    case 'replace':
    case 'test':
      if (!Object.hasOwn(item, 'value')) throw badRequest(`error decoding patch: ${op} ${path} has no "value"`);
      return { op, path, value: item.value };
    default:
      throw badRequest(`error decoding patch: Unexpected kind: ${String(op)}`);
  }
}

function checkPointer(pointer: string): void {
  const isPointer = pointer === '' || pointer.startsWith('/');
  if (!isPointer || pointer.split('/').includes('__proto__')) {
    throw badRequest(`error decoding patch: "${pointer}" is not a JSON pointer to a field of an object`);
  }
}

/**
 * Checks the pointers of the operation. Returns the value at `from` if the operation has it, else the value at `path`. The library would accept any
 * property of an array as an element. RFC 6901 allows only an index, and "-" for the end.
 */
function operandOf(target: unknown, operation: Operation): unknown {
  const value = valueAt(target, operation.path, operation);
  return 'from' in operation ? valueAt(target, operation.from, operation) : value;
}

function valueAt(target: unknown, pointer: string, operation: Operation): unknown {
  const adds = pointer === operation.path && ['add', 'move', 'copy'].includes(operation.op);
  const tokens = pointer.split('/').slice(1);
  let value = target;
  for (const [at, token] of tokens.entries()) {
    if (Array.isArray(value)) {
      const isEnd = token === '-' && adds && at === tokens.length - 1;
      if (!isEnd && !/^(0|[1-9][0-9]*)$/.test(token)) throw rejected(operation, new Error('invalid array index'));
      value = value[Number(token)];
    } else {
      value = isRecord(value) ? ownField(value, token.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined;
      if (value === undefined && at < tokens.length - 1) throw rejected(operation, new Error('missing path'));
    }
  }
  return value;
}

function copiesTooMuch(characters: number): BanyanError {
  const message = `Unable to complete the copy, the accumulated size increase of copy is ${characters}, exceeding the limit ${copiedCharactersMax}`;
  return new BanyanError('TooLarge', message);
}

function rejected(operation: Operation, error: Error): BanyanError {
  const why =
    operation.op === 'test'
      ? `testing value ${operation.path} failed: test failed`
      : `${operation.op} operation does not apply: doc is missing path: ${operation.path}: ${error.message}`;
  const message = `the server rejected our request due to an error in our request: ${why}`;
  return new BanyanError('Invalid', message, {}, { cause: error });
}
