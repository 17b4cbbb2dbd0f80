/** Objects that are nearly valid: a valid object with one to three changes at places that its type has. A list of numbers decides everything. */
import type { FieldType } from '../../../core/apiserver/schema.ts';
import { cloneJson } from '../../../core/object/json-value.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { isRecord } from '../../../core/runtime/is-record.ts';

/** One change: the place, the action, and the value. Each number is taken modulo what there is to choose from. */
export type Change = readonly [place: number, action: number, value: number];

/** A value that the object has or may have. */
interface Place {
  readonly owner: Record<string, unknown> | unknown[];
  readonly name: string | number;
  readonly type: FieldType;
}

export function changed(object: KubeObject, type: FieldType, changes: readonly Change[]): KubeObject {
  const next = cloneJson(object);
  for (const change of changes) changeOne(next, type, change);
  return next;
}

function changeOne(object: KubeObject, type: FieldType, [place, action, value]: Change): void {
  const places: Place[] = [];
  collect(object, type, places, true);
  const at = places[place % places.length]!;
  const owner = at.owner as Record<string | number, unknown>;
  const before = owner[at.name];
  switch (action % 6) {
    case 0:
      if (Array.isArray(at.owner)) at.owner.splice(at.name as number, 1);
      else delete owner[at.name];
      return;
    case 1:
      if (Array.isArray(before) && before.length > 0) before.push(cloneJson(before[value % before.length]));
      else owner[at.name] = made(at.type, value, 0);
      return;
    case 2:
      owner[at.name] = value % 8 === 0 ? wrongType(at.type) : made(at.type, value, 0);
      return;
    default:
      owner[at.name] = made(at.type, value, 0);
  }
}

/** All places below the value. Absent fields count too, except in metadata, whose rules other tests compare. */
function collect(value: unknown, type: FieldType, into: Place[], isRoot = false): void {
  if (type.type === 'object' && isRecord(value)) {
    for (const [name, field] of type.fields()) {
      if (isRoot && (name === 'status' || name === 'apiVersion' || name === 'kind' || name === 'metadata')) continue;
      into.push({ owner: value, name, type: field.type });
      if (value[name] !== undefined) collect(value[name], field.type, into);
    }
  } else if (type.type === 'list' && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      into.push({ owner: value, name: index, type: type.items });
      collect(item, type.items, into);
    }
  } else if (type.type === 'map' && isRecord(value)) {
    for (const name of [...Object.keys(value), 'Bad key!', 'storage', 'example.com/x']) {
      into.push({ owner: value, name, type: type.values });
    }
  }
}

const texts = [
  '',
  'a',
  'a-b',
  'a.b',
  'Bad_Name',
  'a b',
  '-a',
  'a-',
  'x'.repeat(64),
  'y'.repeat(300),
  'a/b',
  'example.com/a',
  'a/b/c',
  '..',
  '../a',
  '/abs',
  '/a/../b',
  '10.0.0.1',
  '10.0.0.300',
  '127.0.0.1',
  'fd00::1',
  '10.0.0.0/8',
  '*.example.com',
  '*',
  'http',
  'till',
  'settings',
  'None',
  'Foo',
  'Always',
  'Never',
  'OnFailure',
  'TCP',
  'UDP',
  'In',
  'NotIn',
  'Exists',
  'Gt',
  'NoExecute',
  'Local',
  'ClusterIP',
  'LoadBalancer',
  'ExternalName',
  'Recreate',
  'RollingUpdate',
  'OnDelete',
  'Indexed',
  'NonIndexed',
  'Localhost',
  'Prefix',
  'Namespace',
  'Cluster',
  'Deny',
  'Warn',
  'metadata.name',
  "metadata.labels['a']",
  'status.podIP',
  '1,3-2',
  '* * * * *',
  '61 * * * *',
  '@daily',
  'object.spec.x == 1',
  'object.',
  '1 + 1',
  'https://a.example/b',
  'http://a',
];
const numbers = [0, 1, -1, 5, 100, 101, 65_535, 65_536, 2_147_483_647, 2_147_483_648, 99_999_999_999];
const amounts: readonly unknown[] = ['1', '-1', '0', '100m', '0.5', '1Gi', '10GB', 'abc', '', '1e3', 5, '1500m'];
const percents: readonly unknown[] = [0, 1, -1, 70_000, '0%', '50%', '150%', 'abc', '', 'http', 'a--b', '5'];
const times = ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05.000000Z', 'yesterday', '', '2024-13-02T03:04:05Z'];
const bytes = ['AAEC', '', 'AAE', '!!', 'AAECA===', 'eyJhIjoxfQ=='];

function pick<T>(from: readonly T[], value: number): T {
  return from[value % from.length]!;
}

/** A value of the type, right or wrong. */
function made(type: FieldType, value: number, depth: number): unknown {
  switch (type.type) {
    case 'object': {
      const names = [...type.fields()].filter(([name]) => name !== 'status');
      const count = depth > 3 ? 0 : value % 3;
      const chosen = Array.from({ length: Math.min(count, names.length) }, (_, i) => pick(names, value * 7 + i * 13));
      return Object.fromEntries(chosen.map(([name, field], i) => [name, made(field.type, value * 3 + i, depth + 1)]));
    }
    case 'list':
      return Array.from({ length: value % 3 }, (_, i) => made(type.items, value + i, depth + 1));
    case 'map':
      return value % 3 === 0 ? {} : { [pick(texts, value)]: made(type.values, value, depth + 1) };
    case 'any':
      return pick([{ a: 1 }, 'a', 1, []] as unknown[], value);
    case 'boolean':
      return value % 2 === 0;
    case 'integer':
      return pick(numbers, value);
    case 'number':
      return pick([0, 1.5, -1], value);
    case 'intOrString':
      return pick(percents, value);
    case 'quantity':
      return pick(amounts, value);
    case 'string':
      if (type.format === 'byte') return pick(bytes, value);
      return type.format === undefined ? pick(texts, value) : pick(times, value);
  }
}

function wrongType(type: FieldType): unknown {
  switch (type.type) {
    case 'string':
      return 5;
    case 'list':
      return {};
    case 'object':
    case 'map':
      return 'text';
    default:
      return type.type === 'quantity' ? true : ['list'];
  }
}
