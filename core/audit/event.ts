/** Audit events in the JSON of Kubernetes (https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/). */
import { type AccessAttributes, isForResource, type Requester } from '../access/attributes.ts';
import type { AccessPlace } from '../access/grant-scope.ts';
import { shownPath } from '../identity/node-path.ts';
import type { AuditLevel, AuditStage } from './policy.ts';

export interface AuditEvent {
  readonly kind: 'Event';
  readonly apiVersion: 'audit.k8s.io/v1';
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser;
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: AuditObjectRef;
  readonly responseStatus?: AuditStatus;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface AuditUser {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface AuditObjectRef {
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly apiGroup?: string;
  readonly apiVersion?: string;
  readonly subresource?: string;
}

export interface AuditStatus {
  readonly metadata: object;
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: unknown;
  readonly code: number;
}

export const decisionAnnotation = 'authorization.k8s.io/decision';
export const reasonAnnotation = 'authorization.k8s.io/reason';
/** The place of the request in the tree. The reference to an object has no field for the place. */
export const placeAnnotation = 'banyan.io/place';

export function auditUser({ name, uid, groups, extra }: Requester): AuditUser {
  return {
    username: name,
    ...(uid ? { uid } : {}),
    ...(groups.length > 0 ? { groups } : {}),
    ...(extra && Object.keys(extra).length > 0 ? { extra } : {}),
  };
}

/** Undefined for a request for a path that belongs to no resource. */
export function objectRefOf(attributes: AccessAttributes, apiVersion: string | undefined): AuditObjectRef | undefined {
  if (!isForResource(attributes)) return undefined;
  const { resource, namespace, name, apiGroup, subresource } = attributes;
  return {
    resource,
    ...(namespace === '' ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
    ...(apiGroup === '' ? {} : { apiGroup }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  };
}

/** `space/retail`, `mailbox/eu`, `cluster/eu:paris`, `node/center`. */
export function auditPlace(place: AccessPlace): string {
  if ('space' in place) return `space/${place.space}`;
  if ('mailbox' in place) return `mailbox/${place.mailbox}`;
  if ('cluster' in place) return `cluster/${shownPath(place.cluster)}`;
  return `node/${shownPath(place.node)}`;
}

/** Microseconds, as in Kubernetes. The clock of a node has whole milliseconds. */
export function auditTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}

/** Kubernetes' own list of requests that last: their log has the stage ResponseStarted too. */
export function lasts(attributes: AccessAttributes): boolean {
  if (!isForResource(attributes)) return false;
  return attributes.verb === 'watch' || lastingSubresources.has(attributes.subresource);
}

/** Whether the request changes nothing. A stream into a Pod may change much, also one that begins with GET, as those over a WebSocket do. */
export function onlyReads(verb: string, subresource = ''): boolean {
  return readingVerbs.has(verb) && !streamSubresources.has(subresource);
}

/** Whether the event is the end of a change that the node has made. */
export function isCarriedOut({ stage, verb, objectRef, responseStatus }: AuditEvent): boolean {
  if (stage !== 'ResponseComplete' || onlyReads(verb, objectRef?.subresource)) return false;
  return responseStatus !== undefined && responseStatus.code < 400;
}

const readingVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);
const streamSubresources: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'portforward']);
const lastingSubresources: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);
