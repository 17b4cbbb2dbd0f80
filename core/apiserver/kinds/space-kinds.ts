/**
 * The kinds of one space: the built-in kinds, the mesh's kinds for this type of space, and the kinds of the CustomResourceDefinitions in its storage. The
 * events of the storage keep the kinds up to date. Every request reads the maps of kinds. They are made again only when a definition changes.
 *
 * If the names of a definition belong to another kind, the definition adds no kind. The CrdController writes the reason into its status.
 */
import { parseBody } from '../../object/canonical.ts';
import type { GroupResource } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import { customKind } from '../crd/custom-kind.ts';
import { type CustomResourceDefinition, crdResource, isDefinition } from '../crd/definition.ts';
import { isServed } from '../crd/names.ts';
import type { Kind, Kinds } from '../space.ts';
import type { SpaceStorage, StorageEvent } from '../storage.ts';

export class SpaceKinds implements Kinds {
  readonly #fixed: readonly Kind[];
  readonly #custom = new Map<string, Kind>();
  /** The generation of each definition, and the revision at which it was written. A write of the status alone changes neither. */
  readonly #defined = new Map<string, { readonly uid: string; readonly generation: number; readonly at: number }>();
  readonly #unsubscribe: () => void;
  #byResource = new Map<string, Kind>();
  #byKind = new Map<string, Kind>();
  #all: readonly Kind[] = [];
  #generation = 1;

  /** `fixed` are the kinds of every space of this type. If two kinds have the same name, the first one is used. */
  constructor(storage: SpaceStorage, fixed: readonly Kind[]) {
    this.#fixed = fixed;
    for (const stored of storage.scan(crdResource)) this.#addOrRemove(parseBody(stored.body), stored.revision);
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
    for (const { type, object } of events) {
      if (object.key.resource !== crdResource.resource || object.key.group !== crdResource.group) continue;
      changed =
        (type === 'DELETED'
          ? this.#remove(object.key.name)
          : this.#addOrRemove(parseBody(object.body), object.revision)) || changed;
    }
    if (!changed) return;
    this.#generation += 1;
    this.#index();
  }

  /** Returns true if the set of served kinds may have changed. */
  #addOrRemove(object: KubeObject, revision: number): boolean {
    const name = object.metadata.name ?? '';
    const definition: CustomResourceDefinition | undefined =
      isDefinition(object) && isServed(object) ? object : undefined;
    if (!definition) return this.#remove(name);
    this.#custom.set(name, customKind(definition, this.#definedAt(definition, revision)));
    return true;
  }

  #remove(name: string): boolean {
    this.#defined.delete(name);
    return this.#custom.delete(name);
  }

  #definedAt({ metadata }: CustomResourceDefinition, revision: number): number {
    const { name = '', uid = '', generation = 0 } = metadata;
    const known = this.#defined.get(name);
    if (known?.uid === uid && known.generation === generation) return known.at;
    this.#defined.set(name, { uid, generation, at: revision });
    return revision;
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
