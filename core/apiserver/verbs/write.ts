/** One write of an object, and the steps that need nothing but the write and its objects. */

import { cloneJson } from '../../object/json-value.ts';
import { formatGroupResource, type ObjectKey } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { WarnedWrite } from '../schema.ts';
import type { Kind, Patch, WriteAdmission, WriteOptions } from '../space.ts';
import * as status from '../status-errors.ts';
import { isNamespace, metadataWithStatus } from './kind-strategy.ts';
import { keepServerMeta } from './object-meta.ts';
import { isPart, withPart } from './object-parts.ts';

/** The facts about one write that its steps need. */
export interface Write {
  readonly kind: Kind;
  readonly version: string;
  readonly key: ObjectKey;
  readonly options: WriteOptions;
  /** True for a patch. For unknown fields of a patch, the Kubernetes API server has another error. */
  readonly isPatch?: boolean;
  /** The patch that has made the object. Absent in server-side apply. */
  readonly patch?: Patch;
  /** The object as the client or its patch has sent it, with nulls and with what the write keeps. Absent in server-side apply. */
  readonly sent?: KubeObject;
  /** True if server-side apply has already made the managedFields. */
  readonly isApplied?: boolean;
}

/** The object to write: the fields that the client may write are from `sent`, all others from `old`. */
export function withKept({ kind, options }: Write, sent: KubeObject, old: KubeObject): KubeObject {
  if (isPart(options.subresource)) return withPart(options.subresource, old, sent);
  if (options.subresource === 'status' || options.subresource === 'finalize') {
    const field = options.subresource === 'status' ? 'status' : 'spec';
    const { [field]: _before, ...next } = cloneJson(old);
    keepServerMeta(sent.metadata, old.metadata);
    next.metadata = metadataWithStatus(kind, sent.metadata, old.metadata);
    if (sent[field] !== undefined && sent[field] !== null) next[field] = sent[field];
    return next as KubeObject;
  }
  keepServerMeta(sent.metadata, old.metadata);
  if (kind.subresources.status) {
    if (old.status === undefined) delete sent.status;
    else sent.status = cloneJson(old.status);
  }
  return sent;
}

export function checkSubresource(kind: Kind, subresource: WriteOptions['subresource']): void {
  const isThere =
    subresource === undefined ||
    (subresource === 'status' && kind.subresources.status) ||
    (subresource === 'scale' && kind.subresources.scale !== undefined) ||
    (isPart(subresource) && (kind.subresources.parts?.includes(subresource) || subresource === 'binding')) ||
    (subresource === 'finalize' && isNamespace(kind));
  if (!isThere) throw status.notServed(`${formatGroupResource(kind)}/${subresource}`);
}

/** Throws Invalid if the rules of the kind find causes that an answer has alone. */
export function refuseFirst({ kind, key }: Write, object: KubeObject, old?: KubeObject): void {
  const causes = kind.rules.validateFirst?.(object, old) ?? [];
  if (causes.length > 0) throw status.invalidObject(kind.storedAs ?? kind, key.name, causes);
}

export function warnAbout(kind: Kind, object: KubeObject, { warn, subresource }: WriteOptions, of: WarnedWrite): void {
  if (warn) for (const text of kind.rules.warnings?.(object, { ...of, subresource }) ?? []) warn(text);
}

export function withWriter({ user, warn }: WriteOptions): Pick<Parameters<WriteAdmission>[0], 'user' | 'warn'> {
  return { ...(user ? { user } : {}), ...(warn ? { warn } : {}) };
}
