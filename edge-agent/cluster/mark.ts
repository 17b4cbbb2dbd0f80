/** The mark on an object that this agent has applied, and whose an object without it is. */

import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from '../../core/object/meta.ts';

/** Server-side apply as this manager is what `Cluster.apply` promises. */
export const agentFieldManager = 'banyan';
const managedLabel = 'banyan.io/managed';
/** Of the objects that have the mark, as https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors writes it. */
export const markSelector = `${managedLabel}=true`;
/** Names the source that delivers the object: `center.retail`. */
const sourceAnnotation = 'banyan.io/source';
/** Names the agent, by its path: two of different trees may have one cluster. */
const agentAnnotation = 'banyan.io/agent';
/** On what goes with others' objects when it goes: that it came with this agent. Another store of the agent has no record of it. */
const createdAnnotation = 'banyan.io/created';
/** How it is to be removed, where that is not Background: another store of the agent has no record of that either. */
const deletionAnnotation = 'banyan.io/deletion';
/** Hash of the body that was applied: by it another store of the agent knows what somebody has changed since from what is wanted anew. */
const contentAnnotation = 'banyan.io/content';

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

/** As it is sent: with what another store of the same agent has to know of it. */
export function signed(
  object: KubeObject,
  agent: string,
  isCreatedContainer: boolean,
  { deletion, content }: { readonly deletion?: PropagationPolicy | undefined; readonly content?: string } = {},
): KubeObject {
  const { annotations } = object.metadata;
  const signature = {
    [agentAnnotation]: agent,
    ...(isCreatedContainer ? { [createdAnnotation]: 'true' } : {}),
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
  /** Of the body that was applied; absent: the object does not say it. */
  readonly content?: string;
}

/**
 * Who applied the object; undefined: no agent, whatever its labels are. Controllers copy labels of an object to others that they make for it, so that the
 * label alone says nothing.
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

function isOwnEntry({ manager, operation }: ManagedFieldsEntry): boolean {
  return manager === agentFieldManager && operation === 'Apply';
}

function isOtherThanUsual(deletion: string | undefined): deletion is PropagationPolicy {
  return deletion === 'Orphan' || deletion === 'Foreground';
}

export function isMarked(live: KubeObject): boolean {
  return live.metadata.labels?.[managedLabel] === 'true';
}

/** Applying no fields gives up all that this manager has set. */
export function bare(live: KubeObject): KubeObject {
  const { name, namespace } = live.metadata;
  return {
    apiVersion: live.apiVersion,
    kind: live.kind,
    metadata: { ...(name === undefined ? {} : { name }), ...(namespace === undefined ? {} : { namespace }) },
  };
}

/**
 * What is applied to a Namespace or definition that stays and is to be nobody's of ours: without the mark. One that is orphaned keeps its labels and annotations,
 * by which a Namespace admits the pods that stay in it; of one that was there before, what was added goes. A definition can't be without its spec, which nobody
 * else may have set.
 */
export function withoutOwnership(live: KubeObject, isOrphaned: boolean): KubeObject {
  const { metadata, ...rest } = bare(live);
  return {
    ...rest,
    metadata: { ...metadata, ...(isOrphaned ? unmarked(live.metadata) : {}) },
    ...(live.kind === 'CustomResourceDefinition' ? { spec: live.spec } : {}),
  };
}

/** Without the mark, and otherwise as it is. */
export function withoutMark(object: KubeObject): KubeObject {
  const but = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(values).filter(([key]) => !markKeys.has(key)));
  const { labels, annotations, ...metadata } = object.metadata;
  const named = {
    ...(labels ? { labels: but(labels) } : {}),
    ...(annotations ? { annotations: but(annotations) } : {}),
  };
  return { ...object, metadata: { ...metadata, ...named } };
}

/**
 * A merge patch that takes the mark off, and this manager's fields with it, whatever version they were applied in. Nobody else's fields are touched. An empty list of
 * `managedFields` would change nothing, and one of an empty entry ends them (https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields).
 */
export function unmarking({ metadata }: KubeObject): object {
  const { labels = {}, annotations = {}, managedFields = [] } = metadata;
  const ended = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.keys(values).flatMap((name) => (markKeys.has(name) ? [[name, null]] : [])));
  const others = managedFields.filter((entry) => !isOwnEntry(entry));
  const named = { labels: ended(labels), annotations: ended(annotations) };
  return { metadata: { ...named, managedFields: others.length === 0 ? [{}] : others } };
}

const markKeys = new Set([
  managedLabel,
  sourceAnnotation,
  agentAnnotation,
  createdAnnotation,
  deletionAnnotation,
  contentAnnotation,
]);

/** Labels and annotations that this manager has applied, but for the mark. */
function unmarked({ labels, annotations, managedFields = [] }: ObjectMeta): Pick<ObjectMeta, 'labels' | 'annotations'> {
  const applied = managedFields.find(isOwnEntry);
  const fields = applied?.fieldsV1?.['f:metadata'] as Readonly<Record<string, object | undefined>> | undefined;
  const kept = (values: Readonly<Record<string, string>> = {}, of: object = {}) =>
    Object.fromEntries(Object.entries(values).filter(([key]) => !markKeys.has(key) && Object.hasOwn(of, `f:${key}`)));
  return { labels: kept(labels, fields?.['f:labels']), annotations: kept(annotations, fields?.['f:annotations']) };
}
