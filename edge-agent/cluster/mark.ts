/** The mark on an object that this agent has applied, and the facts about the owner that the mark contains. */

import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from '../../core/object/meta.ts';

/** The field manager of all server-side applies of the agent (`Cluster.apply`). */
export const agentFieldManager = 'banyan';
/** The manager of the fields that the agent has given back to the cluster. Another name than that of an apply, so that a later apply does not own them. */
export const returnedFieldManager = 'banyan-returned';
const managedLabel = 'banyan.io/managed';
/** Selects the objects with the mark, in the syntax of https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors. */
export const markSelector = `${managedLabel}=true`;
/** Names the source that delivers the object: `center.retail`. */
const sourceAnnotation = 'banyan.io/source';
/** Names the agent by its path, because two agents of different trees may have the same cluster. */
const agentAnnotation = 'banyan.io/agent';
/** This agent created the object: nobody had it before. Another store of the agent has no record of this fact. */
const createdAnnotation = 'banyan.io/created';
/** How to remove the object, if not by Background. Another store of the agent has no record of this fact either. */
const deletionAnnotation = 'banyan.io/deletion';
/** The hash of the applied body. With it, another store of the agent can distinguish changes of somebody else from new desired content. */
const contentAnnotation = 'banyan.io/content';

/** The object as the agent applies it: the delivered object with the mark. */
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

/** The object as the agent sends it, with the facts that another store of the same agent needs. */
export function signed(
  object: KubeObject,
  agent: string,
  created: boolean,
  { deletion, content }: { readonly deletion?: PropagationPolicy | undefined; readonly content?: string } = {},
): KubeObject {
  const { annotations } = object.metadata;
  const signature = {
    [agentAnnotation]: agent,
    ...(created ? { [createdAnnotation]: 'true' } : {}),
    ...(deletion === undefined || deletion === 'Background' ? {} : { [deletionAnnotation]: deletion }),
    ...(content === undefined ? {} : { [contentAnnotation]: content }),
  };
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, ...signature } } };
}

export interface Signature {
  readonly agent: string;
  readonly source: string;
  readonly created: boolean;
  /** Absent: Background. */
  readonly deletion?: PropagationPolicy;
  /** The hash of the applied body. Absent: the object does not have this hash. */
  readonly content?: string;
}

/**
 * Returns the signature of the agent that applied the object. Undefined: no agent has applied the object, whatever labels it has. The label alone proves
 * nothing: controllers copy the labels of an object to other objects that they make for it.
 */
export function signatureOf({ metadata }: KubeObject): Signature | undefined {
  const { annotations = {}, managedFields = [] } = metadata;
  const { [agentAnnotation]: agent, [sourceAnnotation]: source, [createdAnnotation]: created } = annotations;
  if (!managedFields.some(isOwnEntry) || agent === undefined || source === undefined) return undefined;
  const { [deletionAnnotation]: deletion, [contentAnnotation]: content } = annotations;
  return {
    agent,
    source,
    created: created === 'true',
    ...(isOtherThanUsual(deletion) ? { deletion } : {}),
    ...(content === undefined ? {} : { content }),
  };
}

/** Whether the entry has the fields of the agent's applies. */
export function isOwnEntry({ manager, operation }: ManagedFieldsEntry): boolean {
  return manager === agentFieldManager && operation === 'Apply';
}

function isOtherThanUsual(deletion: string | undefined): deletion is PropagationPolicy {
  return deletion === 'Orphan' || deletion === 'Foreground';
}

export function isMarked(live: KubeObject): boolean {
  return live.metadata.labels?.[managedLabel] === 'true';
}

/** The object without any fields. An apply of it gives up all fields that this manager has set. */
export function bare(live: KubeObject): KubeObject {
  const { name, namespace } = live.metadata;
  return {
    apiVersion: live.apiVersion,
    kind: live.kind,
    metadata: { ...(name === undefined ? {} : { name }), ...(namespace === undefined ? {} : { namespace }) },
  };
}

/**
 * The object to apply to a Namespace or definition that stays on the cluster and does not belong to this agent any more. The result has no mark. With the
 * policy Orphan, the object keeps its labels and annotations, because the labels of a Namespace decide which pods it admits. Otherwise, the apply removes the
 * fields that the agent added to an object of somebody else. A definition needs its spec, which nobody else may have set.
 */
export function withoutOwnership(live: KubeObject, isOrphaned: boolean): KubeObject {
  const { metadata, ...rest } = bare(live);
  return {
    ...rest,
    metadata: { ...metadata, ...(isOrphaned ? unmarked(live.metadata) : {}) },
    ...(live.kind === 'CustomResourceDefinition' ? { spec: live.spec } : {}),
  };
}

/** The object without the mark, otherwise unchanged. */
export function withoutMark(object: KubeObject): KubeObject {
  const withoutMarkKeys = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(values).filter(([key]) => !markKeys.has(key)));
  const { labels, annotations, ...metadata } = object.metadata;
  const named = {
    ...(labels ? { labels: withoutMarkKeys(labels) } : {}),
    ...(annotations ? { annotations: withoutMarkKeys(annotations) } : {}),
  };
  return { ...object, metadata: { ...metadata, ...named } };
}

/**
 * Returns a merge patch that removes the mark and this manager's fields, in whatever version they were applied. The fields of other managers stay. An empty
 * list of `managedFields` would change nothing. A list with one empty entry removes all entries
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields).
 */
export function unmarking({ metadata }: KubeObject): object {
  const { labels = {}, annotations = {} } = metadata;
  const removed = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.keys(values).flatMap((name) => (markKeys.has(name) ? [[name, null]] : [])));
  const named = { labels: removed(labels), annotations: removed(annotations) };
  return { metadata: { ...named, managedFields: othersOf(metadata) } };
}

/** The list of managers without this manager, in the form of a merge patch. */
export function othersOf({ managedFields = [] }: ObjectMeta): ManagedFieldsEntry[] {
  const others = managedFields.filter((entry) => !isOwnEntry(entry));
  return others.length === 0 ? [{}] : others;
}

const markKeys = new Set([
  managedLabel,
  sourceAnnotation,
  agentAnnotation,
  createdAnnotation,
  deletionAnnotation,
  contentAnnotation,
]);

/** The labels and annotations that this manager has applied, without the mark. */
function unmarked({ labels, annotations, managedFields = [] }: ObjectMeta): Pick<ObjectMeta, 'labels' | 'annotations'> {
  const applied = managedFields.find(isOwnEntry);
  const fields = applied?.fieldsV1?.['f:metadata'] as Readonly<Record<string, object | undefined>> | undefined;
  const kept = (values: Readonly<Record<string, string>> = {}, of: object = {}) =>
    Object.fromEntries(Object.entries(values).filter(([key]) => !markKeys.has(key) && Object.hasOwn(of, `f:${key}`)));
  return { labels: kept(labels, fields?.['f:labels']), annotations: kept(annotations, fields?.['f:annotations']) };
}
