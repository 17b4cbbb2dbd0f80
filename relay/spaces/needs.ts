/**
 * The objects that a placement needs in addition to the selected ones: the Namespace of a selected object, the CustomResourceDefinition of its kind, and the
 * Customizers and StatusSummarizers that it uses. The uses are counted for each placement (`implied` rows). So a needed object is removed when the last object
 * that needs it is removed.
 */
import type { DownsyncItem } from '../../core/apiserver/kinds/edge-placement.ts';
import type { Kinds } from '../../core/apiserver/space.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { asText, concat, prefixRange, readU32, text, u32 } from '../../core/store/bytes.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import { auxiliariesOf } from './auxiliaries.ts';

/** Keyed by placement: the formatted keys of the needed objects. */
type NeedsOfObject = Record<string, string[]>;

export const namespaceObjects = { group: '', resource: 'namespaces', namespace: '' } as const;
export const definitionObjects = {
  group: 'apiextensions.k8s.io',
  resource: 'customresourcedefinitions',
  namespace: '',
} as const;

const nul = Buffer.of(0);

export class Needs {
  readonly #source: string;
  readonly #kinds: Kinds;
  readonly #mark: (t: Transaction, key: ObjectKey, revision: number) => void;

  /** `mark` is called when the set of placements that need an object has changed. */
  constructor(source: string, kinds: Kinds, mark: (t: Transaction, key: ObjectKey, revision: number) => void) {
    this.#source = source;
    this.#kinds = kinds;
    this.#mark = mark;
  }

  /** Updates the counts of the objects that this object needs. */
  count(
    t: Transaction,
    key: ObjectKey,
    object: KubeObject | undefined,
    selecting: readonly { placement: string; items: readonly DownsyncItem[] }[],
    revision: number,
  ): void {
    const needs = this.#of(key, object, selecting);
    // The row of the object itself has an empty placement name, which no placement has.
    const at = this.#keyOf('', key);
    const stored = t.get(at);
    const before: NeedsOfObject = stored ? JSON.parse(asText(stored)) : {};
    if (Object.keys(needs).length > 0) t.put(at, text(JSON.stringify(needs)));
    else t.remove(at);
    for (const [name, keys] of Object.entries(needs)) {
      for (const need of keys) if (!before[name]?.includes(need)) this.#add(t, name, parseKey(need), 1, revision);
    }
    for (const [name, keys] of Object.entries(before)) {
      for (const need of keys) if (!needs[name]?.includes(need)) this.#add(t, name, parseKey(need), -1, revision);
    }
  }

  /** Returns the placements that need the object, sorted by name. */
  neededBy(reader: Reader, key: ObjectKey): string[] {
    const prefix = this.#prefixOf(key);
    const names = [...reader.scan(prefixRange(prefix))].map(([at]) => asText(at.subarray(prefix.length)));
    return names.filter((name) => name !== '');
  }

  #of(
    key: ObjectKey,
    object: KubeObject | undefined,
    selecting: readonly { placement: string; items: readonly DownsyncItem[] }[],
  ): NeedsOfObject {
    const always: ObjectKey[] = [];
    if (key.namespace !== '') always.push({ ...namespaceObjects, name: key.namespace });
    if (this.#kinds.byResource(key)?.custom ?? true) {
      always.push({ ...definitionObjects, name: `${key.resource}.${key.group}` });
    }
    const needs = selecting.map(({ placement, items }): [string, string[]] => {
      const auxiliaries = object ? auxiliariesOf(key, object, items) : [];
      return [placement, [...always, ...auxiliaries].map(formatKey)];
    });
    return Object.fromEntries(needs.filter(([, keys]) => keys.length > 0));
  }

  #add(t: Transaction, placement: string, need: ObjectKey, by: number, revision: number): void {
    const at = this.#keyOf(placement, need);
    const before = countAt(t, at);
    if (before + by > 0) t.put(at, u32(before + by));
    else t.remove(at);
    if (before === 0 || before + by === 0) this.#mark(t, need, revision);
  }

  #keyOf(placement: string, key: ObjectKey): Uint8Array {
    return concat(this.#prefixOf(key), text(placement));
  }

  /** The key begins with the needed object, so one scan finds all placements that need the object, however many placements there are. */
  #prefixOf(key: ObjectKey): Uint8Array {
    return concat(prefixOf('implied'), text(this.#source), nul, text(formatKey(key)), nul);
  }
}

function countAt(reader: Reader, at: Uint8Array): number {
  const bytes = reader.get(at);
  return bytes ? readU32(bytes) : 0;
}
