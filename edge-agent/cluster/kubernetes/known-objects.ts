/**
 * What one listener has been told of a watched resource: makes events of lists and changes, which may say again what is known. Remembered of each object are
 * its uid and version.
 *
 * A list that has an object as it was when all was known, and as it was not known then, tells of another past: the cluster was put back to a backup. Its versions
 * alone don't say so where they were made to go on from what was reached (`etcdutl snapshot restore --bump-revision`).
 */
import { formatKey, type GroupResource, type ObjectKey, parseKey } from '../../../core/object/key.ts';
import { formatApiVersion, type KubeObject } from '../../../core/object/meta.ts';
import type { ClusterEvent, ServedResource, WatchEvents } from '../cluster.ts';

interface KnownObject {
  readonly uid: string;
  readonly resourceVersion: string;
}

export class KnownObjects {
  readonly events: WatchEvents;
  readonly #resource: GroupResource;
  readonly #known = new Map<string, KnownObject>();
  #hasAllReported = false;
  /** While a list is told to one who has heard all before: up to which version that was. */
  #knownUpTo = 0;
  #wentBack = false;

  constructor(resource: GroupResource, events: WatchEvents) {
    this.#resource = resource;
    this.events = events;
  }

  /** A list begins, after all changes up to this version. */
  listing(upTo: number): void {
    this.#knownUpTo = this.#hasAllReported ? upTo : 0;
  }

  tell(type: ClusterEvent['type'], object: KubeObject): void {
    const key = knownKeyIn(this.#resource, object);
    const name = formatKey(key);
    const known = this.#known.get(name);
    const { uid = '', resourceVersion = '' } = object.metadata;
    if (type === 'DELETED') {
      if (!known) return;
      this.#known.delete(name);
      this.events.on({ type, key, object });
      return;
    }
    if (known?.uid === uid && known.resourceVersion === resourceVersion) return;
    if (resourceVersion !== '' && Number(resourceVersion) <= this.#knownUpTo) this.#wentBack = true;
    // Another object of the same name: the one before has gone, and nobody has told.
    if (known && known.uid !== uid)
      this.events.on({
        type: 'DELETED',
        key,
        object: { ...object, metadata: { ...object.metadata, uid: known.uid } },
      });
    this.#known.set(name, { uid, resourceVersion });
    this.events.on({ type: known?.uid === uid ? 'MODIFIED' : 'ADDED', key, object });
  }

  /** These were in the list of this version, and all of them were told. */
  listed(found: ReadonlySet<string>, version: number, { group, versions, kind }: ServedResource): void {
    if (this.#wentBack || version < this.#knownUpTo) this.events.wentBack?.();
    this.#wentBack = false;
    this.#knownUpTo = 0;
    this.#hasAllReported = true;
    for (const [key, { uid }] of this.#known) {
      if (found.has(key)) continue;
      const { namespace, name } = parseKey(key);
      this.tell('DELETED', {
        apiVersion: formatApiVersion(group, versions[0]!),
        kind,
        metadata: { name, uid, ...(namespace === '' ? {} : { namespace }) },
      });
    }
    this.events.synced(found);
  }
}

export function knownKeyIn({ group, resource }: GroupResource, { metadata }: KubeObject): ObjectKey {
  return { group, resource, namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}
