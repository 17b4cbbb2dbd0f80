/**
 * The audit policy: which requests the log has, and how much of each. The form and the meaning are those of Kubernetes
 * (https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/#audit-policy): the first matching rule decides.
 */
import { type AccessAttributes, isForResource, type ResourceAttributes } from '../access/attributes.ts';
import { fullResource } from '../access/refusal.ts';

/** In this order, each level has what the level before has. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];

export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

/** An empty list and an absent list match everything. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly users?: readonly string[] | undefined;
  readonly userGroups?: readonly string[] | undefined;
  readonly verbs?: readonly string[] | undefined;
  readonly resources?: readonly AuditResources[] | undefined;
  /** The empty text means what is in no namespace. */
  readonly namespaces?: readonly string[] | undefined;
  readonly nonResourceURLs?: readonly string[] | undefined;
  readonly omitStages?: readonly AuditStage[] | undefined;
  readonly omitManagedFields?: boolean | undefined;
}

export interface AuditResources {
  readonly group?: string | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly resourceNames?: readonly string[] | undefined;
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages?: readonly AuditStage[] | undefined;
  readonly omitManagedFields?: boolean | undefined;
}

export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** `attributes` has the user who was authenticated, not the user as whom the request acts. */
export function auditDecision(policy: AuditPolicy, attributes: AccessAttributes): AuditDecision {
  const { omitStages: ofPolicy = [], omitManagedFields: fieldsOfPolicy = false } = policy;
  const rule = policy.rules.find((one) => matches(one, attributes));
  if (!rule) return { level: 'None', omitStages: ofPolicy, omitManagedFields: fieldsOfPolicy };
  return {
    level: rule.level,
    omitStages: [...new Set([...ofPolicy, ...(rule.omitStages ?? [])])],
    omitManagedFields: rule.omitManagedFields ?? fieldsOfPolicy,
  };
}

export function hasBodyOf(part: 'request' | 'response', level: AuditLevel): boolean {
  return level === 'RequestResponse' || (part === 'request' && level === 'Request');
}

function matches(rule: AuditRule, attributes: AccessAttributes): boolean {
  const { users = [], userGroups = [], verbs = [], namespaces = [], resources = [], nonResourceURLs = [] } = rule;
  const { user, verb } = attributes;
  if (users.length > 0 && !users.includes(user.name)) return false;
  if (userGroups.length > 0 && !user.groups.some((group) => userGroups.includes(group))) return false;
  // A verb has no wildcard: "*" would match only a verb with this name.
  if (verbs.length > 0 && !verbs.includes(verb)) return false;
  if (namespaces.length > 0 || resources.length > 0)
    return isForResource(attributes) && matchesResource({ namespaces, resources }, attributes);
  if (nonResourceURLs.length === 0) return true;
  return !isForResource(attributes) && nonResourceURLs.some((pattern) => matchesPath(pattern, attributes.path));
}

function matchesResource(
  { namespaces, resources }: { readonly namespaces: readonly string[]; readonly resources: readonly AuditResources[] },
  attributes: ResourceAttributes,
): boolean {
  if (namespaces.length > 0 && !namespaces.includes(attributes.namespace)) return false;
  return resources.length === 0 || resources.some((rule) => matchesGroup(rule, attributes));
}

/** A rule without resources matches the whole group, with all subresources and all names. */
function matchesGroup({ group = '', resources = [], resourceNames = [] }: AuditResources, asked: ResourceAttributes) {
  if (group !== asked.apiGroup) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(asked.name)) return false;
  return resources.some((pattern) => matchesName(pattern, asked));
}

/** `pods` is not `pods/log`. `pods/*` is the resource too, and not only its subresources. `*` is everything in the group. */
function matchesName(pattern: string, asked: ResourceAttributes): boolean {
  if (pattern === '*' || pattern === fullResource(asked)) return true;
  if (asked.subresource !== '' && pattern === `*/${asked.subresource}`) return true;
  return pattern === `${asked.resource}/*`;
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, ''));
}
