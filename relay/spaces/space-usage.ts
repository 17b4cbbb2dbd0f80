/** Counts the objects of a space and their bytes. The counts are those of the store: a first count reads all objects, and each commit changes the counts. */
import type { SpaceStorage } from '../../core/apiserver/storage.ts';

export interface Usage {
  readonly objects: number;
  readonly bytes: number;
}

export class SpaceUsage {
  readonly #storage: SpaceStorage;
  #counted: Usage | undefined;

  constructor(storage: SpaceStorage) {
    this.#storage = storage;
    storage.subscribe((events) => {
      if (!this.#counted) return;
      let { objects, bytes } = this.#counted;
      for (const { type, object, before } of events) {
        objects += Number(type === 'ADDED') - Number(type === 'DELETED');
        bytes += (type === 'DELETED' ? 0 : object.body.length) - (before?.body.length ?? 0);
      }
      this.#counted = { objects, bytes };
    });
  }

  /** The first call reads the space. A space without limits never asks, so it costs nothing. */
  get present(): Usage {
    this.#counted ??= this.#count();
    return this.#counted;
  }

  #count(): Usage {
    let [objects, bytes] = [0, 0];
    for (const resource of this.#storage.resources()) {
      this.#storage.visit(resource, {}, ({ body }) => {
        objects += 1;
        bytes += body.length;
        return true;
      });
    }
    return { objects, bytes };
  }
}
