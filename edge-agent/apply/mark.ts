/** The mark on an object that this agent has applied, and whose an object without it is. */
import type { KubeObject } from '../../core/object/meta.ts';

/** Server-side apply as this manager is what `Cluster.apply` promises. */
export const fieldManager = 'banyan';
const managedLabel = 'banyan.io/managed';
/** Of the objects that have the mark, as https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors writes it. */
export const markSelector = `${managedLabel}=true`;
/** Names the source that delivers the object: `center.retail`. */
const sourceAnnotation = 'banyan.io/source';

/** The object as it is applied: as delivered, with the mark. */
export function marked(object: KubeObject, source: string): KubeObject {
  const { labels, annotations, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...labels, [managedLabel]: 'true' },
      annotations: { ...annotations, [sourceAnnotation]: source },
    },
  };
}

export function isMarked(live: KubeObject): boolean {
  return live.metadata.labels?.[managedLabel] === 'true';
}

/**
 * Why an object that exists without our mark must not be taken over; undefined: it may be. Someone's controller owns it, or
 * someone keeps it by server-side apply and would fight for it.
 */
export function foreignOwner(live: KubeObject): string | undefined {
  const owner = live.metadata.ownerReferences?.[0];
  if (owner) return `${owner.kind} ${owner.name} owns it`;
  const applier = live.metadata.managedFields?.find(
    (entry) => entry.operation === 'Apply' && entry.manager !== fieldManager,
  );
  return applier && `${applier.manager ?? 'another manager'} keeps it by server-side apply`;
}
