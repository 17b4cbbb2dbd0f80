/**
 * How many objects a resource has, in all namespaces or in one. A list counts the rows once. From then on, each change changes the number. So the first page of
 * a long list does not count its rows.
 */
import { formatGroupResource, type GroupResource } from '../../object/key.ts';
import type { StorageEvent } from '../storage.ts';

/** With more numbers, all are dropped and counted again: 1,000 namespaces whose objects somebody lists in pages. */
const countsMax = 1_000;

export class ObjectCounts {
  readonly #counts = new Map<string, number>();

  /** `count` counts the rows, if the number is not known. */
  of(resource: GroupResource, namespace: string | undefined, count: () => number): number {
    const key = keyOf(resource, namespace);
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    if (this.#counts.size >= countsMax) this.#counts.clear();
    const counted = count();
    this.#counts.set(key, counted);
    return counted;
  }

  /** Must be called for every change, before anybody else hears about the change. */
  changed(events: readonly StorageEvent[]): void {
    if (this.#counts.size === 0) return;
    for (const { type, object } of events) {
      if (type === 'MODIFIED') continue;
      const by = type === 'ADDED' ? 1 : -1;
      for (const namespace of [undefined, object.key.namespace]) {
        const key = keyOf(object.key, namespace);
        const known = this.#counts.get(key);
        if (known !== undefined) this.#counts.set(key, known + by);
      }
    }
  }
}

function keyOf(resource: GroupResource, namespace: string | undefined): string {
  return namespace === undefined ? formatGroupResource(resource) : `${formatGroupResource(resource)}/${namespace}`;
}
