/**
 * The kinds of one space: the built-in kinds, the mesh's kinds for this type of space, and the kinds of the CustomResourceDefinitions in its storage. The
 * events of the storage keep the kinds up to date. Every request reads the maps of kinds. They are made again only when a definition changes.
 *
 * If the names of a definition belong to another kind, the definition adds no kind. The CrdController writes the reason into its status.
 */
import { BodyParts } from '../../object/body-parts.ts';
import { parseBody } from '../../object/canonical.ts';
import type { GroupResource } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import { customKind } from '../crd/custom-kind.ts';
import { crdResource, isDefinition } from '../crd/definition.ts';
import { isServed } from '../crd/names.ts';
import type { Kind, Kinds } from '../space.ts';
import type { SpaceStorage, StorageEvent, StoredObject } from '../storage.ts';

interface Defined {
  /** The revision at which the spec was written. */
  readonly at: number;
  readonly spec: KubeObject['spec'];
}

export class SpaceKinds implements Kinds {
  readonly #fixed: readonly Kind[];
  readonly #custom = new Map<string, Kind>();
  /** The present spec of each definition. Most writes leave the spec as it is, and it may have a megabyte. */
  readonly #defined = new Map<string, Defined>();
  readonly #unsubscribe: () => void;
  #byResource = new Map<string, Kind>();
  #byKind = new Map<string, Kind>();
  #all: readonly Kind[] = [];
  #generation = 1;

  /** `fixed` are the kinds of every space of this type. If two kinds have the same name, the first one is used. */
  constructor(storage: SpaceStorage, fixed: readonly Kind[]) {
    this.#fixed = fixed;
    for (const stored of storage.scan(crdResource)) this.#addOrRemove(stored);
    this.#index();
    this.#unsubscribe = storage.subscribe((events) => this.#onEvents(events));
  }

  get generation(): number {
    return this.#generation;
  }

  all(): readonly Kind[] {
    return this.#all;
  }

  byResource(of: GroupResource): Kind | undefined {
    return this.#byResource.get(`${of.group}/${of.resource}`);
  }

  byKind(group: string, version: string, kind: string): Kind | undefined {
    const found = this.#byKind.get(`${group}/${kind}`);
    return found && (version === '' || found.versions.includes(version)) ? found : undefined;
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
  }

  #onEvents(events: readonly StorageEvent[]): void {
    let changed = false;
    for (const { type, object, before } of events) {
      if (object.key.resource !== crdResource.resource || object.key.group !== crdResource.group) continue;
      changed = (type === 'DELETED' ? this.#remove(object.key.name) : this.#addOrRemove(object, before)) || changed;
    }
    if (!changed) return;
    this.#generation += 1;
    this.#index();
  }

  /** Returns true if the set of served kinds may have changed. */
  #addOrRemove(stored: StoredObject, before?: StoredObject): boolean {
    const { name } = stored.key;
    const definition = this.#definitionIn(stored, before);
    if (!isDefinition(definition) || !isServed(definition)) return this.#custom.delete(name);
    this.#custom.set(name, customKind(definition, this.#defined.get(name)!.at));
    return true;
  }

  #remove(name: string): boolean {
    this.#defined.delete(name);
    return this.#custom.delete(name);
  }

  #definitionIn({ key: { name }, body, revision }: StoredObject, before: StoredObject | undefined): KubeObject {
    const parts = new BodyParts(body);
    const head = parts.head();
    const known = this.#defined.get(name);
    if (known && before && parts.hasSame('spec', new BodyParts(before.body))) return { ...head, spec: known.spec };
    const { spec } = parseBody(body);
    this.#defined.set(name, { at: revision, spec });
    return { ...head, spec };
  }

  #index(): void {
    this.#byResource = new Map();
    this.#byKind = new Map();
    for (const kind of [...this.#fixed, ...this.#custom.values()]) {
      const resource = `${kind.group}/${kind.resource}`;
      const name = `${kind.group}/${kind.kind}`;
      if (this.#byResource.has(resource) || this.#byKind.has(name)) continue;
      this.#byResource.set(resource, kind);
      this.#byKind.set(name, kind);
    }
    this.#all = [...this.#byResource.values()];
  }
}
