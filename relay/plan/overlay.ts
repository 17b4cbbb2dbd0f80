/** The objects of a space as they would be if some further objects were written. Nothing is written. */
import { edgeGroup } from '../../core/apiserver/kinds/edge-placement.ts';
import type { Kinds } from '../../core/apiserver/space.ts';
import { invalidObject } from '../../core/apiserver/status-errors.ts';
import type { SpaceStorage } from '../../core/apiserver/storage.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { formatKey, type GroupResource, type ObjectKey } from '../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import { BanyanError, type Cause } from '../../core/runtime/errors.ts';

export interface OverlaidObject {
  readonly key: ObjectKey;
  /** The object in the space now. Absent: the object would be new. */
  readonly present?: KubeObject;
  readonly next: KubeObject;
  /** True: the object is one of those that would be written. */
  readonly isWritten: boolean;
}

export class SpaceOverlay {
  readonly #storage: SpaceStorage;
  /** Keyed by formatted key. */
  readonly #written = new Map<string, { readonly key: ObjectKey; readonly object: KubeObject }>();

  /** Throws BadRequest for an object of a kind that neither the space nor a definition among the objects has. */
  constructor(storage: SpaceStorage, kinds: Kinds, objects: readonly KubeObject[]) {
    this.#storage = storage;
    for (const object of objects) {
      const key = keyOf(object, kinds, objects);
      // The plan reads the fields of these kinds. A dry run has checked them; another client may not have.
      const causes = key.group === edgeGroup ? wrongFields(object, key, kinds) : [];
      if (causes.length > 0) throw invalidObject({ group: key.group, kind: object.kind }, key.name, causes);
      this.#written.set(formatKey(key), { key, object });
    }
  }

  get(key: ObjectKey): KubeObject | undefined {
    return this.#written.get(formatKey(key))?.object ?? this.present(key);
  }

  present(key: ObjectKey): KubeObject | undefined {
    const stored = this.#storage.get(key);
    return stored && parseBody(stored.body);
  }

  written(): Iterable<{ readonly key: ObjectKey; readonly object: KubeObject }> {
    return this.#written.values();
  }

  resources(): GroupResource[] {
    const all = [...this.#storage.resources(), ...[...this.#written.values()].map(({ key }) => key)];
    const byName = new Map(all.map(({ group, resource }) => [`${group}/${resource}`, { group, resource }]));
    return [...byName.values()];
  }

  /** Calls `see` for each object of a resource, in all namespaces or in one. Ends when `see` returns false. */
  visit(resource: GroupResource, namespace: string | undefined, see: (object: OverlaidObject) => boolean): void {
    let goesOn = true;
    this.#storage.visit(resource, namespace === undefined ? {} : { namespace }, ({ key, body }) => {
      const written = this.#written.get(formatKey(key));
      const present = parseBody(body);
      goesOn = see({ key, present, next: written?.object ?? present, isWritten: written !== undefined });
      return goesOn;
    });
    if (!goesOn) return;
    for (const { key, object } of this.#written.values()) {
      const isHere = key.group === resource.group && key.resource === resource.resource;
      if (!isHere || (namespace !== undefined && key.namespace !== namespace)) continue;
      if (this.#storage.get(key)) continue;
      if (!see({ key, next: object, isWritten: true })) return;
    }
  }
}

function wrongFields(object: KubeObject, key: ObjectKey, kinds: Kinds): readonly Cause[] {
  return kinds.byResource(key)?.rules.validate(object, parseApiVersion(object.apiVersion).version) ?? [];
}

interface Definition extends KubeObject {
  readonly spec: { readonly group: string; readonly names: { readonly kind: string; readonly plural: string } };
}

function keyOf(object: KubeObject, kinds: Kinds, objects: readonly KubeObject[]): ObjectKey {
  const { group, version } = parseApiVersion(object.apiVersion);
  const { name = '', namespace = '' } = object.metadata;
  const kind = kinds.byKind(group, version, object.kind);
  if (kind) return { group, resource: kind.resource, namespace: kind.namespaced ? namespace : '', name };
  const definition = (objects as readonly Definition[]).find(
    (one) =>
      one.kind === 'CustomResourceDefinition' && one.spec?.group === group && one.spec.names?.kind === object.kind,
  );
  if (definition) return { group, resource: definition.spec.names.plural, namespace, name };
  throw new BanyanError('BadRequest', `this space has no kind "${object.kind}" in ${object.apiVersion}`);
}
