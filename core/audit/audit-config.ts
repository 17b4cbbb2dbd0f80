/** The part `audit` of a node's configuration. The names and units of the limits are those of kube-apiserver's flags. */
import * as z from 'zod';

const limits = {
  maxAge: z.number().int().min(1).optional().describe('Days for which older files are kept. Default: no limit.'),
  maxSize: z.number().int().min(1).max(1024).default(100).describe('MiB of a file. Then the file is renamed.'),
  maxBackups: z.number().int().min(1).max(99).default(9).describe('Number of older files that are kept.'),
  whenFull: z
    .enum(['refuse', 'count'])
    .default('refuse')
    .describe(
      'What happens while the log cannot be written. `refuse`: changes are refused. `count`: lost events are counted.',
    ),
  bodyBytesMax: z
    .number()
    .int()
    .min(0)
    .max(3 * 2 ** 20)
    .default(100 * 1024)
    .describe('Bodies with more bytes are left out of the events.'),
};

const policyFile = z
  .string()
  .min(1)
  .optional()
  .describe('A policy of Kubernetes (audit.k8s.io/v1). Default: who changes something, without bodies.');

export const auditConfigSchema = z
  .strictObject({
    policyFile,
    path: z.string().min(1).optional(),
    stdout: z.literal(true).optional(),
    ...limits,
  })
  .refine(({ path, stdout }) => (path === undefined) !== (stdout === undefined), {
    error: 'needs either path or stdout: give exactly one of the two',
  });

/** In a topology, the log is a file of the data directory. */
export const topologyAuditSchema = z.strictObject({ policyFile, ...limits });

export type AuditConfig = z.infer<typeof auditConfigSchema>;
export type TopologyAudit = z.infer<typeof topologyAuditSchema>;
