/** The configuration of an agent: one YAML file, checked as a whole before anything starts. */
import * as z from 'zod';
import { auditConfigSchema } from '../../core/audit/audit-config.ts';
import { encryptionConfigSchema } from '../../core/encryption/encryption-config.ts';
import { limitsSchema } from '../../core/entries/deletion-guard.ts';
import { usersSchema } from '../../core/identity/client-authority.ts';
import { acceptSchema } from '../../core/match/delivery-config.ts';
import { addressSchema } from '../../core/object/checked-text.ts';
import { parseConfig } from '../../core/runtime/config-file.ts';
import { logRotationSchema } from '../../core/runtime/log-rotation.ts';
import type { SchemaProblem } from '../../core/runtime/schema-problems.ts';
import { refusing } from '../../core/runtime/schema-words.ts';
import { linkOptionsSchema } from '../../core/wire/dialer/link-options.ts';
import { defaultPace } from '../cluster/embedded/controllers/pace.ts';
import { fromAboveValues } from '../cluster/from-above.ts';
import { defaultLimits, inFlightBytesMin } from '../cluster/kubernetes/client-limits.ts';
import { bytesSchema } from '../limits/byte-quantity.ts';

/** Names of Kubernetes objects: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ */
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsName = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;
/** Smallest memory limit. Node.js with the program needs nearly as much. */
const memoryMin = 96 * 2 ** 20;
const milliseconds = z.number().int().min(0);

function objectName(pattern: RegExp, kind: string, characters: string) {
  return z.string().regex(pattern, { error: refusing(`the name of ${kind} has only ${characters}`) });
}

const secret = z.strictObject({
  namespace: objectName(dnsLabel, 'a namespace', "a-z, 0-9 and '-'"),
  name: objectName(dnsName, 'a Secret', "a-z, 0-9, '-' and '.'"),
});

const accessSchema = z.strictObject({
  fromAbove: z
    .enum(fromAboveValues)
    .default('grants')
    .describe(
      "What users of nodes above may do at the cluster. `grants`: what the cluster's own roles say about `center:alice`; for a real cluster, only the users that `streams.cluster` names. `none`: nothing. `cluster-admin`: everything.",
    ),
  metrics: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Users who may read the metrics of an agent beside a real cluster, as this agent names them: `center:system:serviceaccount:monitoring:prometheus`. At an embedded cluster, the roles of the cluster decide.',
    ),
});

const users = usersSchema
  .extend({ ca: usersSchema.shape.ca.describe('PEM file of the authorities of users.') })
  .optional()
  .describe('Certificates of users. Absent: the authority of the tree is the one of users too.');
const givenPki = z
  .strictObject({
    ca: z.string().min(1).describe('PEM file of the authority of the tree.'),
    cert: z.string().min(1).describe("PEM file of the agent's certificate."),
    key: z.string().min(1).describe('PEM file of its key.'),
    secret: secret
      .optional()
      .describe(
        'The Secret of the cluster from which the files are mounted. The agent writes a renewed certificate into this Secret. Absent: into the file.',
      ),
    users,
  })
  .describe('Certificates from files.');
const joiningPki = z
  .strictObject({
    joinToken: z.string().min(1).describe('File with a join token. It is needed until the agent has joined.'),
    secret: secret
      .optional()
      .describe(
        'An existing Secret of the cluster, empty at first, that keeps key and certificate instead of the data directory. Several agents with one identity share the identity in this Secret.',
      ),
    users,
  })
  .describe(
    'With a join token, the agent makes its key and asks its parent once for a certificate. It keeps both in `identity` of the data directory. With another `path`, it needs another token, and makes another key.',
  );

const embedded = z
  .strictObject({
    stepMinMs: milliseconds
      .default(defaultPace.stepMinMs)
      .describe('The shortest time between two steps in the life of a pod.'),
    stepMaxMs: milliseconds.default(defaultPace.stepMaxMs).describe('The longest time between two such steps.'),
    progressDeadlineMaxMs: milliseconds
      .default(defaultPace.progressDeadlineMaxMs)
      .describe('After this time at the latest, a rollout without progress counts as failed.'),
  })
  .describe("The mesh's own API server, with controllers that simulate the progress of workloads.");
const lease = z
  .strictObject({
    namespace: objectName(dnsLabel, 'a namespace', "a-z, 0-9 and '-'").describe('The namespace of the Lease.'),
    name: objectName(dnsName, 'a Lease', "a-z, 0-9, '-' and '.'").describe('The name of the Lease.'),
    identity: z
      .string()
      .min(1)
      .optional()
      .describe('The name by which people know this agent among the others. Absent: the name of its host.'),
  })
  .describe(
    'Present if several agents have this path and certificate, each with its own data directory. The Lease decides which of these agents is active.',
  );
const kubernetes = z
  .strictObject({
    kubeconfig: z.string().min(1).optional().describe('The kubeconfig file. Absent: the service account of this pod.'),
    context: z.string().min(1).optional().describe('Absent: the current context of the kubeconfig.'),
    uid: z
      .string()
      .min(1)
      .optional()
      .describe(
        'The uid of the namespace kube-system, which identifies the cluster. Absent: the cluster that the agent found first.',
      ),
    lease: lease.optional(),
    limits: z
      .strictObject({
        requestsPerSecond: z.number().min(1).default(defaultLimits.requestsPerSecond).describe('Requests a second.'),
        inFlight: z
          .number()
          .int()
          .min(1)
          .default(defaultLimits.inFlight)
          .describe('Requests at once. Watches do not count.'),
        inFlightBytes: bytesSchema(inFlightBytesMin)
          .default(defaultLimits.inFlightBytes)
          .describe('How many bytes these requests and their answers may have in memory at once.'),
      })
      .default(defaultLimits)
      .describe("Limits for the agent's requests to its API server."),
  })
  .describe('A real cluster.');

export const agentConfigSchema = z.strictObject({
  path: z.string().min(1).describe("The agent's place in the tree: `eu:paris:store-17`."),
  data: z.string().min(1).describe("The directory of the agent's store. The embedded cluster is in the store too."),
  logFile: z.string().optional().describe('The log file, with JSON lines. Absent: standard output.'),
  logRotation: logRotationSchema.optional().describe('When a new log file begins.'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('The least level that is written.'),
  statusFile: z.string().optional().describe('The agent writes this file once, when it serves requests: {url, pid}.'),
  parent: z
    .strictObject({
      address: addressSchema.describe('Where the parent listens for children: host:port, or [address]:port for IPv6.'),
      path: z.string().describe('The path of the parent. Empty: the center.'),
      replicas: z
        .array(addressSchema)
        .optional()
        .describe("Addresses of the parent's other replicas, in the order in which the agent tries them."),
    })
    .describe('The parent.'),
  link: linkOptionsSchema.prefault({}).describe('How the agent reaches its parent.'),
  pki: z.union([givenPki, joiningPki]).describe('Key and certificate.'),
  api: z
    .strictObject({
      host: z.string().default('127.0.0.1').describe('An address, for IPv6 without brackets. `::`: all addresses.'),
      port: z.number().int().min(0).max(65_535).default(0).describe('0: a free port.'),
    })
    .default({ host: '127.0.0.1', port: 0 })
    .describe("The address of the embedded cluster's API and of /readyz."),
  limits: limitsSchema
    .extend({
      memory: bytesSchema(memoryMin)
        .optional()
        .describe(
          'The highest number of resident bytes. An agent that uses more for some time ends properly, and a supervisor starts it again. Absent: only the container limits the agent.',
        ),
    })
    .optional()
    .describe(
      'Limits of deletions, above which the agent holds deletions until a person approves them, and of memory.',
    ),
  access: accessSchema.prefault({}).describe('Rights of users whom other nodes have authenticated.'),
  accept: acceptSchema
    .optional()
    .describe('Which sources may bring what to the cluster. Absent: everything is accepted.'),
  audit: auditConfigSchema
    .optional()
    .describe(
      "The log of requests to the embedded cluster's API. Absent: there is none. A real cluster has its own audit log.",
    ),
  encryption: encryptionConfigSchema
    .optional()
    .describe(
      'Which objects are sealed in the store, and with which keys. Absent: none, and a sealed store is not opened.',
    ),
  streams: z
    .strictObject({
      cluster: z
        .strictObject({
          users: z
            .array(z.string().min(1))
            .min(1)
            .describe(
              'Users of the tree who are allowed, each with the path of the node that has authenticated the user: `center:jo`. `*`: all users that the tree lets through. The permissions of each user come from the cluster.',
            ),
          groups: z
            .array(z.string().min(1))
            .default([])
            .describe('The groups of these users that the cluster is allowed to see: `center:ops`. `*`: all groups.'),
        })
        .describe('Which users may send requests, and in which groups.'),
    })
    .optional()
    .describe(
      "Requests that people send to the cluster through the tree: kubectl's get, logs and exec by streams. Absent: no such requests are allowed.",
    ),
  cluster: z
    .union([z.strictObject({ embedded }), z.strictObject({ kubernetes })])
    .describe('The cluster is either embedded or a Kubernetes cluster.'),
});

export type AgentConfig = z.infer<typeof agentConfigSchema>;

/** Throws BadRequest with the file, the line, the field and a remedy. */
export function parseAgentConfig(text: string, file: string): AgentConfig {
  return Object.freeze(parseConfig(text, file, agentConfigSchema, 'configuration of an agent', contradictions));
}

/** Fields that only a real cluster has. */
function contradictions({ cluster, pki, access, streams }: AgentConfig): SchemaProblem[] {
  if ('kubernetes' in cluster) return [];
  const place = 'joinToken' in pki ? 'in its data directory' : 'in the files of pki';
  const wrong: readonly (readonly [boolean, string, string])[] = [
    [
      pki.secret !== undefined,
      'pki.secret',
      `remove it. An embedded cluster has no such Secret; the agent keeps its identity ${place}`,
    ],
    [
      access.metrics.length > 0,
      'access.metrics',
      'remove it. The roles of an embedded cluster decide: bind the ClusterRole banyan:metrics in the cluster',
    ],
    [
      streams !== undefined,
      'streams',
      'remove it. An embedded cluster has no users; whoever may open streams may do everything in the cluster',
    ],
  ];
  return wrong.flatMap(([isWrong, field, message]) => (isWrong ? [{ path: field.split('.'), message }] : []));
}
