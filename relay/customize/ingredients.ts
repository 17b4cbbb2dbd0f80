/** Customizers and kinds: everything that a rendering needs besides the object. They come from the rows of a source. Each content is compiled once. */

import { builtinKinds } from '../../core/apiserver/builtin/builtin-kinds.ts';
import { customKind } from '../../core/apiserver/crd/custom-kind.ts';
import type { CustomResourceDefinition } from '../../core/apiserver/crd/definition.ts';
import type { Kind } from '../../core/apiserver/space.ts';
import { type Compilation, compileCustomizer } from '../../core/customize/compile.ts';
import type { CustomizerSpec } from '../../core/customize/customizer.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { asBuffer } from '../../core/store/bytes.ts';
import type { Reader } from '../../core/store/store.ts';
import { customizerKey, promotedCustomizerOf } from '../promoted/held-customizers.ts';

export interface Ingredient<T> {
  /** The hash of the text alone: the attributes of the row do not change it. */
  readonly hash: string;
  readonly value: T;
}

/** One node uses a few hundred Customizers and definitions. A definition with its compiled schema takes about 100 KB. */
const keptMax = 1_000;

export class Ingredients {
  readonly #customizers = new Map<string, Compilation>();
  readonly #kinds = new Map<string, Kind>();
  readonly #builtins = new Map(builtinKinds().map((kind) => [`${kind.group}/${kind.resource}`, kind]));

  /**
   * Returns the Customizer with this `namespace/name`. `asOf` names a placement: the Customizer is then returned as it was when this placement was promoted.
   * Undefined: the source has no Customizer of this name, or had none at that time.
   */
  customizer(
    reader: Reader,
    table: Table,
    source: string,
    name: string,
    asOf: PlacementId | undefined,
  ): Ingredient<Compilation> | undefined {
    const key = customizerKey(name);
    if (key.name.includes('/')) return undefined;
    const promoted = asOf === undefined ? undefined : promotedCustomizerOf(reader, table, asOf, name);
    const content = promoted ? promoted.content : contentAt(reader, table, entryKey.auxiliary(source, key));
    if (!content) return undefined;
    const hash = bodyHash(content);
    return { hash, value: kept(this.#customizers, hash, () => compileCustomizer(specOf(content))) };
  }

  /** Returns the kind of the object. Undefined: the kind is not built in, and the source does not send its definition. */
  kind(reader: Reader, table: Table, source: string, object: ObjectKey): Ingredient<Kind> | undefined {
    const builtin = this.#builtins.get(`${object.group}/${object.resource}`);
    if (builtin) return { hash: '', value: builtin };
    const name = `${object.resource}.${object.group}`;
    const key = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '', name };
    const content = contentAt(reader, table, entryKey.object(source, key));
    if (!content) return undefined;
    const hash = bodyHash(content);
    const definition = () => customKind(parseBody(content.body) as CustomResourceDefinition);
    return { hash, value: kept(this.#kinds, hash, definition) };
  }
}

export function bodyHash(content: Content): string {
  return asBuffer(hash128(content.body)).toString('latin1');
}

function specOf(content: Content): CustomizerSpec {
  return (parseBody(content.body).spec ?? {}) as CustomizerSpec;
}

function contentAt(reader: Reader, table: Table, key: string): Content | undefined {
  const row = table.get(reader, hash128(key));
  return row?.content && table.content(reader, row.content);
}

/** Returns the kept value, or makes it. If there are too many values, the least recently used ones are removed. */
function kept<T>(map: Map<string, T>, key: string, make: () => T): T {
  const value = map.get(key) ?? make();
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= keptMax) break;
    map.delete(oldest);
  }
  return value;
}
