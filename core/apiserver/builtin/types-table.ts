/**
 * The facts about built-in types, from the generated table. test/support/builtin-table makes the table; generated/types.json names its source, version and
 * licence. A field is `name|protobuf number|type|flags`, followed by `m=` merge key, `s=` patch strategy, `l=` list type, `k=` keys of the list, `d=`
 * defaults of the keys. Flags are p pointer, o omitempty, r required, i inlined. The code reads a type when the type is used for the first time.
 */

import { readFileSync } from 'node:fs';
import { ownField } from '../../object/json-value.ts';
import type { Field, FieldType, ListType, ObjectType } from '../schema.ts';

export interface TableKind {
  readonly g: string;
  readonly v: string;
  readonly k: string;
  readonly t: string;
  readonly r?: string;
  readonly n?: boolean;
  readonly s?: readonly string[];
  readonly c?: readonly string[];
  readonly st?: boolean;
  readonly sc?: boolean;
}

interface TypesTable {
  readonly kinds: readonly TableKind[];
  readonly types: Readonly<Record<string, readonly string[]>>;
}

/** A field, with the facts that only protobuf needs. */
export interface BuiltinField extends Field {
  readonly protobufNumber: number;
  /** The type as the table writes it: `time`, `raw`, `[@io.k8s…`. */
  readonly wireType: string;
  readonly pointer: boolean;
  readonly omitEmpty: boolean;
}

const table = JSON.parse(readFileSync(new URL('./generated/types.json', import.meta.url), 'utf8')) as TypesTable;
const types = new Map<string, BuiltinType>();

export const tableKinds: readonly TableKind[] = table.kinds;

export class BuiltinType implements ObjectType {
  readonly type = 'object';
  readonly name: string;
  readonly mapType: 'atomic' | 'granular';
  readonly preserveUnknown = false;
  #fields: Map<string, BuiltinField> | undefined;
  #inlined: readonly { number: number; type: BuiltinType }[] = [];

  constructor(name: string, mapType: 'atomic' | 'granular' = atomicStructs.has(name) ? 'atomic' : 'granular') {
    this.name = name;
    this.mapType = mapType;
  }

  field(name: string): BuiltinField | undefined {
    return this.#read().get(name);
  }

  fields(): Iterable<readonly [string, BuiltinField]> {
    return this.#read();
  }

  /**
   * The inlined structs. In JSON, their fields are among the fields of this type. In protobuf, each inlined struct is a message of its own, unless its
   * number is 0.
   */
  inlined(): readonly { number: number; type: BuiltinType }[] {
    this.#read();
    return this.#inlined;
  }

  #read(): Map<string, BuiltinField> {
    if (this.#fields) return this.#fields;
    const fields = new Map<string, BuiltinField>();
    const inlined: { number: number; type: BuiltinType }[] = [];
    if (isRoot(this.name)) {
      for (const name of ['apiVersion', 'kind']) fields.set(name, { ...plainString, protobufNumber: 0 });
    }
    for (const line of table.types[this.name] ?? []) {
      const [name, number, wireType, flags, ...marks] = line.split('|') as [
        string,
        string,
        string,
        string,
        ...string[],
      ];
      if (flags.includes('i')) {
        const type = builtinType(wireType.slice(1));
        inlined.push({ number: Number(number), type });
        for (const [inner, field] of type.fields()) fields.set(inner, field);
      } else {
        const field = readField(Number(number), wireType, flags, marks);
        const isGranular = granularFields.has(`${this.name}.${name}`);
        fields.set(name, isGranular ? { ...field, type: new BuiltinType(wireType.slice(1), 'granular') } : field);
      }
    }
    this.#inlined = inlined;
    this.#fields = fields;
    return fields;
  }
}

/** The names of all types of the table. */
export function builtinTypeNames(): string[] {
  return Object.keys(table.types);
}

export function builtinType(name: string): BuiltinType {
  const existing = types.get(name);
  if (existing) return existing;
  if (!(name in table.types)) throw new Error(`the table has no type ${name}`);
  const type = new BuiltinType(name);
  types.set(name, type);
  return type;
}

/** Structs that server-side apply treats as a single value: `+structType=atomic` in the Go sources. */
const atomicStructs = new Set([
  'io.k8s.api.admissionregistration.v1.MatchResources',
  'io.k8s.api.admissionregistration.v1.NamedRuleWithOperations',
  'io.k8s.api.admissionregistration.v1.ParamKind',
  'io.k8s.api.admissionregistration.v1.ParamRef',
  'io.k8s.api.admissionregistration.v1.Variable',
  'io.k8s.api.autoscaling.v1.CrossVersionObjectReference',
  'io.k8s.api.core.v1.ConfigMapKeySelector',
  'io.k8s.api.core.v1.EndpointAddress',
  'io.k8s.api.core.v1.EndpointPort',
  'io.k8s.api.core.v1.FileKeySelector',
  'io.k8s.api.core.v1.LocalObjectReference',
  'io.k8s.api.core.v1.NodeSelector',
  'io.k8s.api.core.v1.NodeSelectorTerm',
  'io.k8s.api.core.v1.ObjectFieldSelector',
  'io.k8s.api.core.v1.ObjectReference',
  'io.k8s.api.core.v1.ResourceFieldSelector',
  'io.k8s.api.core.v1.ScopeSelector',
  'io.k8s.api.core.v1.SecretKeySelector',
  'io.k8s.api.core.v1.SecretReference',
  'io.k8s.api.core.v1.TopologySelectorTerm',
  'io.k8s.api.core.v1.TypedLocalObjectReference',
  'io.k8s.api.discovery.v1.EndpointPort',
  'io.k8s.api.networking.v1.ServiceBackendPort',
  'io.k8s.api.rbac.v1.RoleRef',
  'io.k8s.api.rbac.v1.Subject',
  'io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector',
  'io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference',
]);
/** Fields whose struct is granular there alone: `+structType=granular`. */
const granularFields = new Set(['io.k8s.api.core.v1.PersistentVolumeSpec.claimRef']);

const plainString = {
  type: { type: 'string' },
  required: false,
  wireType: 'string',
  pointer: false,
  omitEmpty: true,
} as const;
const rootTypes = new Set(table.kinds.map((kind) => kind.t));

function isRoot(name: string): boolean {
  return rootTypes.has(name) || name.endsWith('.DeleteOptions') || name.endsWith('.meta.v1.Status');
}

function readField(protobufNumber: number, wireType: string, flags: string, marks: readonly string[]): BuiltinField {
  const mark = (letter: string) => marks.find((one) => one.startsWith(`${letter}=`))?.slice(2);
  const strategies = mark('s')?.split(',') ?? [];
  const mergeKey = mark('m');
  const has = (strategy: string) => strategies.includes(strategy);
  return {
    type: readType(wireType, mark('l'), mark('k'), mark('d')),
    required: flags.includes('r'),
    protobufNumber,
    wireType,
    pointer: flags.includes('p'),
    omitEmpty: flags.includes('o'),
    ...(strategies.length > 0
      ? { patchStrategy: { merge: has('merge'), replace: has('replace'), retainKeys: has('retainKeys') } }
      : {}),
    ...(mergeKey === undefined ? {} : { patchMergeKey: mergeKey }),
  };
}

function readType(wireType: string, list?: string, keys?: string, defaults?: string): FieldType {
  if (wireType.startsWith('[')) {
    const listType: ListType['listType'] = list === 'map' || list === 'set' ? list : 'atomic';
    const items = readType(wireType.slice(1));
    return listType === 'map' && keys
      ? new KeyedList(items, keys.split(','), readDefaults(defaults))
      : { type: 'list', items, listType };
  }
  if (wireType.startsWith('{'))
    return { type: 'map', values: readType(wireType.slice(1)), mapType: list === 'atomic' ? 'atomic' : 'granular' };
  if (wireType.startsWith('@')) return builtinType(wireType.slice(1));
  return ownField(scalarTypes, wireType) ?? { type: 'any' };
}

const scalarTypes: Readonly<Record<string, FieldType>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  time: { type: 'string', format: 'date-time' },
  microtime: { type: 'string', format: 'micro-time' },
  duration: { type: 'string' },
  quantity: { type: 'quantity' },
  intstr: { type: 'intOrString' },
};

type KeyDefaults = Readonly<Record<string, string | number | boolean>>;

/** A list whose items have keys. The type of its items is read when somebody asks for the defaults of the keys. */
class KeyedList implements ListType {
  readonly type = 'list';
  readonly items: FieldType;
  readonly listType = 'map';
  readonly mapKeys: readonly string[];
  readonly #given: KeyDefaults;
  #defaults: KeyDefaults | undefined;

  constructor(items: FieldType, mapKeys: readonly string[], given: KeyDefaults) {
    this.items = items;
    this.mapKeys = mapKeys;
    this.#given = given;
  }

  /** As in the OpenAPI of Kubernetes, a key that Go writes even if it is empty has the empty value as its default. */
  get mapKeyDefaults(): KeyDefaults {
    this.#defaults ??= { ...this.#emptyKeys(), ...this.#given };
    return this.#defaults;
  }

  #emptyKeys(): KeyDefaults {
    const { items } = this;
    return Object.fromEntries(
      this.mapKeys.flatMap((key) => {
        const field = items.type === 'object' ? items.field(key) : undefined;
        if (!field?.required) return [];
        return [[key, field.type.type === 'string' ? '' : 0]];
      }),
    );
  }
}

function readDefaults(text: string | undefined): KeyDefaults {
  if (text === undefined) return {};
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const cut = pair.indexOf('=');
      return [pair.slice(0, cut), JSON.parse(pair.slice(cut + 1)) as string | number | boolean];
    }),
  );
}
