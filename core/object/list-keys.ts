/**
 * Lists whose items have keys, with one key twice. An API server accepts such lists from clients that create or update an object, and refuses them from a
 * server-side apply. An agent applies, so it delivers an equal object in which each key is there once.
 */

import { envOnce } from './env-variables.ts';
import { jsonText } from './json.ts';
import { cloneJson, equalJson } from './json-value.ts';
import type { KubeObject } from './meta.ts';
import { containersOf, podSpecOf, recordsIn, type Values } from './pod-template.ts';

export type KeysOnce =
  | { readonly object: KubeObject }
  /** No equal object has each key once. The text names the list, the key and the remedy. */
  | { readonly why: string };

/** The object with each key once in every list. Without a repeated key, the object itself. */
export function withKeysOnce(object: KubeObject): KeysOnce {
  if (!listsOf(object).some(({ owner, list }) => hasRepeatedKey(owner, list))) return { object };
  const copy = cloneJson(object);
  for (const { path, owner, list } of listsOf(copy)) {
    if (!hasRepeatedKey(owner, list)) continue;
    const once = list.name === 'env' ? variablesOnce(recordsIn(owner, list.name)) : itemsOnce(owner, list);
    if ('why' in once) return { why: `${path}.${list.name}: ${once.why}` };
    (owner as Record<string, unknown>)[list.name] = once.items;
  }
  return { object: copy };
}

interface KeyedList {
  readonly name: string;
  readonly keys: readonly string[];
  /** Values of keys that an item may leave out. */
  readonly defaults?: Values;
  /** Makes one item of two with the same key. Absent: both have to be equal. */
  combine?(first: Values, second: Values): Values;
}

/** The lists of the types of Kubernetes that have keys (`+listType=map` in its Go sources), without those of `status`. */
const ofPodSpec: readonly KeyedList[] = [
  { name: 'volumes', keys: ['name'] },
  { name: 'initContainers', keys: ['name'] },
  { name: 'containers', keys: ['name'] },
  { name: 'imagePullSecrets', keys: ['name'] },
  { name: 'hostAliases', keys: ['ip'], combine: (first, second) => ({ ...second, hostnames: union(first, second) }) },
  { name: 'topologySpreadConstraints', keys: ['topologyKey', 'whenUnsatisfiable'] },
  { name: 'schedulingGates', keys: ['name'] },
  { name: 'resourceClaims', keys: ['name'] },
];
const ofContainer: readonly KeyedList[] = [
  { name: 'env', keys: ['name'] },
  { name: 'ports', keys: ['containerPort', 'protocol'], defaults: { protocol: 'TCP' } },
  { name: 'volumeMounts', keys: ['mountPath'] },
  { name: 'volumeDevices', keys: ['devicePath'] },
];
const byName = (...names: string[]): KeyedList[] => names.map((name) => ({ name, keys: ['name'] }));
/** Lists of other kinds, by kind and by the path of the object that has the list. */
const ofKinds: Readonly<Record<string, Readonly<Record<string, readonly KeyedList[]>>>> = {
  Service: { spec: [{ name: 'ports', keys: ['port', 'protocol'], defaults: { protocol: 'TCP' } }] },
  ServiceAccount: { '': byName('secrets') },
  MutatingWebhookConfiguration: { '': byName('webhooks') },
  ValidatingWebhookConfiguration: { '': byName('webhooks') },
  ValidatingAdmissionPolicy: { spec: byName('matchConditions', 'variables') },
};

/** `/etc/hosts` has a line for each item, so both lines count. */
function union(first: Values, second: Values): unknown[] {
  const names = (item: Values) => (Array.isArray(item.hostnames) ? item.hostnames : []);
  return [...new Set([...names(first), ...names(second)])];
}

interface FoundList {
  readonly path: string;
  readonly owner: Values;
  readonly list: KeyedList;
}

function listsOf(object: KubeObject): FoundList[] {
  const { kind, apiVersion } = object;
  const isBuiltIn = !apiVersion.includes('.') || /\.k8s\.io\//.test(apiVersion);
  const pod = isBuiltIn ? podSpecOf(kind, object) : undefined;
  if (pod) {
    return [
      ...containersOf(pod).flatMap(({ path, container }) => found(path, container, ofContainer)),
      ...found(pod.path, pod.spec, ofPodSpec),
    ];
  }
  const lists = isBuiltIn ? ofKinds[kind] : undefined;
  return Object.entries(lists ?? {}).flatMap(([path, of]) => {
    const owner = path === '' ? object : object[path];
    return owner ? found(path, owner as Values, of) : [];
  });
}

function found(path: string, owner: Values, lists: readonly KeyedList[]): FoundList[] {
  return lists.filter(({ name }) => Array.isArray(owner[name])).map((list) => ({ path, owner, list }));
}

function hasRepeatedKey(owner: Values, list: KeyedList): boolean {
  const items = recordsIn(owner, list.name);
  return new Set(items.map((item) => keyText(item, list))).size < items.length;
}

function itemsOnce(owner: Values, list: KeyedList): { items: Values[] } | { why: string } {
  const byKey = new Map<string, Values>();
  for (const item of recordsIn(owner, list.name)) {
    const key = keyText(item, list);
    const before = byKey.get(key);
    if (before && !list.combine && !equalJson({ ...list.defaults, ...before }, { ...list.defaults, ...item })) {
      const why = `duplicate entries for key ${key} that are not equal, which a server-side apply can't write`;
      return { why: `${why}: leave one of them out, or give them different keys` };
    }
    byKey.set(key, before && list.combine ? list.combine(before, item) : item);
  }
  return { items: [...byKey.values()] };
}

function variablesOnce(env: readonly Values[]): { items: Values[] } | { why: string } {
  const once = envOnce(env);
  return 'why' in once ? once : { items: once.env };
}

/** `[containerPort=53,protocol="UDP"]`, as an API server writes the key. */
function keyText(item: Values, { keys, defaults = {} }: KeyedList): string {
  return `[${keys.map((key) => `${key}=${jsonText(item[key] ?? defaults[key])}`).join(',')}]`;
}
