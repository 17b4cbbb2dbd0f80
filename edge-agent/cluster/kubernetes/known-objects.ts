/**
 * The objects that one listener of a watched resource has received. The class makes events from lists and changes, which may repeat known objects. For each
 * object, it keeps only uid and version.
 *
 * After a restore from a backup, a list may contain an object with an unknown version that is not newer than the newest received version. The listener had
 * received all changes up to that version, and this version was not among them. So the cluster was restored. The version of the list alone does not show this
 * if versions continue above the highest version reached (`etcdutl snapshot restore --bump-revision`).
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
  /** Not 0 while a list is sent to a listener that had received all changes before: the version up to which it had received them. */
  #knownUpTo = 0;
  #wentBack = false;

  constructor(resource: GroupResource, events: WatchEvents) {
    this.#resource = resource;
    this.events = events;
  }

  /** Called when a list begins. The listener has received all changes up to this version. */
  listing(upTo: number): void {
    this.#knownUpTo = this.#hasAllReported ? upTo : 0;
  }

  deliver(type: ClusterEvent['type'], object: KubeObject): void {
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
    // Another object has the same name now: the old object was deleted without an event. Nobody knows its last content.
    if (known && known.uid !== uid) {
      const { apiVersion, kind, metadata } = object;
      this.events.on({ type: 'DELETED', key, object: { apiVersion, kind, metadata: { ...metadata, uid: known.uid } } });
    }
    this.#known.set(name, { uid, resourceVersion });
    this.events.on({ type: known?.uid === uid ? 'MODIFIED' : 'ADDED', key, object });
  }

  /** Called when the list of this version is complete. `found` has the keys of all its objects, and all of them were sent. */
  listed(found: ReadonlySet<string>, version: number, { group, versions, kind }: ServedResource): void {
    if (this.#wentBack || version < this.#knownUpTo) this.events.wentBack?.();
    this.#wentBack = false;
    this.#knownUpTo = 0;
    this.#hasAllReported = true;
    for (const [key, { uid }] of this.#known) {
      if (found.has(key)) continue;
      const { namespace, name } = parseKey(key);
      this.deliver('DELETED', {
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
