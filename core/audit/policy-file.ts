/** Reads and checks a policy file. An unknown field is an error: a misspelt field would make a rule match more than its author wants. */
import * as z from 'zod';
import { parseConfig } from '../runtime/config-file.ts';
import { type AuditPolicy, auditLevels, auditStages } from './policy.ts';

const stages = z.array(z.enum(auditStages)).optional();
const texts = z.array(z.string()).optional();

const groupName = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$/;

const resourceSchema = z
  .strictObject({
    group: z
      .string()
      .regex(groupName, 'must be the name of an API group without a version, such as "apps"; "" is the core group')
      .optional(),
    resources: texts,
    resourceNames: texts,
  })
  .refine(({ resources = [], resourceNames = [] }) => resourceNames.length === 0 || resources.length > 0, {
    path: ['resourceNames'],
    message: 'must not be without resources; add "resources" beside the names',
  });

const urlPattern = z
  .string()
  .refine(
    (url) => url === '*' || (url.startsWith('/') && !url.slice(0, -1).includes('*')),
    'must begin with "/" and have "*" only at the end, such as "/healthz*"; or be "*"',
  );

const ruleSchema = z
  .strictObject({
    level: z.enum(auditLevels),
    users: texts,
    userGroups: texts,
    verbs: texts,
    resources: z.array(resourceSchema).optional(),
    namespaces: texts,
    nonResourceURLs: z.array(urlPattern).optional(),
    omitStages: stages,
    omitManagedFields: z.boolean().optional(),
  })
  .refine(
    ({ nonResourceURLs = [], resources = [], namespaces = [] }) =>
      nonResourceURLs.length === 0 || (resources.length === 0 && namespaces.length === 0),
    {
      path: ['nonResourceURLs'],
      message: 'must not be beside resources or namespaces; write two rules',
    },
  );

const policySchema = z.strictObject({
  apiVersion: z.literal('audit.k8s.io/v1'),
  kind: z.literal('Policy'),
  metadata: z.looseObject({}).optional(),
  rules: z.array(ruleSchema).min(1, 'must have at least one rule; a policy of {level: None} writes nothing'),
  omitStages: stages,
  omitManagedFields: z.boolean().optional(),
});

/** Throws BadRequest with a line for each problem: the file, the line, the rule (`rules[2]` is the third), the field, the value and a remedy. */
export function parseAuditPolicy(text: string, file: string): AuditPolicy {
  const { rules, omitStages, omitManagedFields } = parseConfig(text, file, policySchema, 'audit policy');
  return { rules, omitStages, omitManagedFields };
}

/**
 * The policy of a node whose configuration names no file. The log has every request to change something, allowed or
 * refused, and every request for Secrets and for streams into Pods. The log has no bodies: those of Secrets, tokens and ConfigMaps hold what nobody may read
 * in a log. Other reads are left out, because informers would fill the disk.
 */
export const defaultAuditPolicy: AuditPolicy = {
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Metadata', resources: [{ group: '', resources: ['secrets', 'secrets/*'] }] },
    { level: 'Metadata', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
    // Acts of the node itself: see node-acts.ts.
    { level: 'Metadata', verbs: ['join', 'renew', 'attach', 'approve'] },
    { level: 'Metadata', resources: [{ group: '', resources: ['pods/exec', 'pods/attach', 'pods/portforward'] }] },
  ],
};
