/** What of an object travels: the object as its author wrote it, without what only its space knows. */
import type { StorageEvent } from '../../core/apiserver/storage.ts';
import type { OriginAttributes } from '../../core/entries/down-attributes.ts';
import { canonicalBytes, parseBody } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { equalBytes } from '../../core/store/bytes.ts';

/** kubectl's copy of the last applied configuration concerns the space that it was applied to, and doubles the body. */
const annotationsThatStay = new Set(['kubectl.kubernetes.io/last-applied-configuration']);

export function payloadOf(object: KubeObject): Uint8Array {
  const { status: _status, metadata, ...rest } = object;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => !annotationsThatStay.has(key));
  return canonicalBytes({
    ...rest,
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      ...(metadata.name === undefined ? {} : { name: metadata.name }),
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(metadata.labels && Object.keys(metadata.labels).length > 0 ? { labels: metadata.labels } : {}),
      ...(annotations.length > 0 ? { annotations: Object.fromEntries(annotations) } : {}),
    },
  });
}

/** Nothing that travels has changed, such as when a status is written. */
export function changesOnlyStatus({ type, before, object }: StorageEvent): boolean {
  if (type !== 'MODIFIED' || !before) return false;
  const [was, is] = [parseBody(before.body), parseBody(object.body)];
  return was.metadata.uid === is.metadata.uid && equalBytes(payloadOf(was), payloadOf(is));
}

export function originAttributesOf(object: KubeObject): OriginAttributes {
  return {
    uid: object.metadata.uid ?? '',
    created: object.metadata.creationTimestamp ?? '',
    generation: object.metadata.generation ?? 0,
  };
}
