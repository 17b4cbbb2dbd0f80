/** The part of an object that travels: the object as its author wrote it, without the fields that only its space knows. */

import type { StorageEvent } from '../../core/apiserver/storage.ts';
import { withoutFilledIn } from '../../core/apiserver/verbs/filled-in.ts';
import type { OriginAttributes } from '../../core/entries/down-attributes.ts';
import { canonicalBytes, parseBody } from '../../core/object/canonical.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { equalBytes } from '../../core/store/bytes.ts';

/** These annotations do not travel. kubectl's copy of the last applied configuration concerns only the space to which it was applied, and doubles the body. */
const annotationsThatStay = new Set(['kubectl.kubernetes.io/last-applied-configuration']);

export function payloadOf(object: KubeObject): Uint8Array {
  const { status: _status, metadata, ...rest } = withoutFilledIn(object);
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

/** Returns true if nothing that travels has changed, for example when only a status was written. */
export function changesOnlyStatus({ type, before, object }: StorageEvent): boolean {
  if (type !== 'MODIFIED' || !before) return false;
  const [former, present] = [parseBody(before.body), parseBody(object.body)];
  return former.metadata.uid === present.metadata.uid && equalBytes(payloadOf(former), payloadOf(present));
}

export function originAttributesOf(object: KubeObject): OriginAttributes {
  return {
    uid: object.metadata.uid ?? '',
    created: object.metadata.creationTimestamp ?? '',
    generation: object.metadata.generation ?? 0,
  };
}
