/** The configuration of an agent: one YAML file, checked as a whole before anything starts. */
import * as z from 'zod';
import { auditConfigSchema } from '../../core/audit/audit-config.ts';
import { encryptionConfigSchema } from '../../core/encryption/encryption-config.ts';
import { limitsSchema } from '../../core/entries/deletion-guard.ts';
import { usersSchema } from '../../core/identity/client-authority.ts';
import { acceptSchema } from '../../core/match/delivery-config.ts';
import { addressSchema } from '../../core/runtime/checked-text.ts';
import { parseConfig } from '../../core/runtime/config-file.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { logRotationSchema } from '../../core/runtime/log-rotation.ts';
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
  /**
   * What users of nodes above may do at the cluster. `grants`: what the cluster's own roles say about `center:alice`; for a real cluster, only the users that
   * `streams.cluster` names. `none`: nothing. `cluster-admin`: everything.
   */
  fromAbove: z.enum(fromAboveValues).default('grants'),
  /**
   * Users who may read the metrics of an agent beside a real cluster, as this agent names them: `center:system:serviceaccount:monitoring:prometheus`. At an embedded
   * cluster, the roles of the cluster decide.
   */
  metrics: z.array(z.string().min(1)).default([]),
});

export const agentConfigSchema = z.strictObject({
  /** The agent's place in the tree: `eu:paris:store-17`. */
  path: z.string().min(1),
  /** The directory of the agent's store. The embedded cluster is in the store too. */
  data: z.string().min(1),
  /** The log file, with JSON lines. Absent: standard output. */
  logFile: z.string().optional(),
  logRotation: logRotationSchema.optional(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** The agent writes this file once, when it serves requests: {url, pid}. */
  statusFile: z.string().optional(),
  /**
   * The address where the parent listens for its children, the parent's path, and the addresses of the parent's other replicas. If the parent does not
   * answer, the agent tries the other replicas in this order.
   */
  parent: z.strictObject({
    address: addressSchema,
    path: z.string(),
    replicas: z.array(addressSchema).optional(),
  }),
  /** How the agent reaches its parent. */
  link: linkOptionsSchema.prefault({}),
  pki: z.union([
    /** PEM files: the certificate of the tree's authority, and this agent's certificate and key. */
    z.strictObject({
      ca: z.string().min(1),
      cert: z.string().min(1),
      key: z.string().min(1),
      /** The Secret of the cluster from which the files are mounted. The agent writes a renewed certificate into this Secret. Absent: into the file. */
      secret: secret.optional(),
      /** The authorities of users. Absent: the authority of the tree. */
      users: usersSchema.optional(),
    }),
    /** A file with a join token. The agent makes its key and asks its parent once for a certificate. It stores both in its data directory. */
    z.strictObject({
      joinToken: z.string().min(1),
      /**
       * An existing Secret of the cluster, empty at first, that replaces the data directory. Several agents with one identity share the identity in this
       * Secret.
       */
      secret: secret.optional(),
      users: usersSchema.optional(),
    }),
  ]),
  /** The address of the embedded cluster's API and of /readyz. With port 0, the agent uses a free port. */
  api: z
    .strictObject({ host: z.string().default('127.0.0.1'), port: z.number().int().min(0).max(65_535).default(0) })
    .default({ host: '127.0.0.1', port: 0 }),
  /** `deletions`: the limits above which the agent holds deletions until a person approves them. */
  limits: limitsSchema
    .extend({
      /**
       * The highest number of resident bytes. An agent that uses more for some time ends properly, and a supervisor starts it again. Absent: only the
       * container limits the agent.
       */
      memory: bytesSchema(memoryMin).optional(),
    })
    .optional(),
  access: accessSchema.prefault({}),
  /** Which sources may bring what to the cluster. Absent: everything is accepted. */
  accept: acceptSchema.optional(),
  /** The log of requests to the embedded cluster's API. Absent: there is none. A real cluster has its own audit log. */
  audit: auditConfigSchema.optional(),
  /** Which objects are sealed in the store, and with which keys. Absent: none, and a sealed store is not opened. */
  encryption: encryptionConfigSchema.optional(),
  /** Requests that people send to the cluster through the tree: kubectl's get, logs and exec by streams. Absent: no such requests are allowed. */
  streams: z
    .strictObject({
      cluster: z.strictObject({
        /**
         * Users of the tree who are allowed, each with the path of the node that has authenticated the user: `center:jo`. `*`: all users that the tree lets
         * through. The permissions of each user come from the cluster.
         */
        users: z.array(z.string().min(1)).min(1),
        /** The groups of these users that the cluster is allowed to see: `center:ops`. `*`: all groups. */
        groups: z.array(z.string().min(1)).default([]),
      }),
    })
    .optional(),
  /** The cluster is either embedded or a Kubernetes cluster. */
  cluster: z.union([
    z.strictObject({
      /** The mesh's own API server, with controllers that simulate the progress of workloads. */
      embedded: z.strictObject({
        /** The shortest and longest time between two steps in the life of a pod. */
        stepMinMs: milliseconds.default(defaultPace.stepMinMs),
        stepMaxMs: milliseconds.default(defaultPace.stepMaxMs),
        /** After this time at the latest, a rollout without progress counts as failed. */
        progressDeadlineMaxMs: milliseconds.default(defaultPace.progressDeadlineMaxMs),
      }),
    }),
    z.strictObject({
      /** A real cluster. */
      kubernetes: z.strictObject({
        /** The kubeconfig file. Absent: the service account of this pod. */
        kubeconfig: z.string().min(1).optional(),
        /** Absent: the current context of the kubeconfig. */
        context: z.string().min(1).optional(),
        /** The uid of the namespace kube-system, which identifies the cluster. Absent: the cluster that the agent found first. */
        uid: z.string().min(1).optional(),
        /** Present if several agents have this path and certificate, each with its own data directory. The Lease decides which of these agents is active. */
        lease: z
          .strictObject({
            namespace: objectName(dnsLabel, 'a namespace', "a-z, 0-9 and '-'"),
            name: objectName(dnsName, 'a Lease', "a-z, 0-9, '-' and '.'"),
            /** The name by which people know this agent among the others. Absent: the name of its host. */
            identity: z.string().min(1).optional(),
          })
          .optional(),
        /** Limits for the agent's requests to its API server. */
        limits: z
          .strictObject({
            requestsPerSecond: z.number().min(1).default(defaultLimits.requestsPerSecond),
            inFlight: z.number().int().min(1).default(defaultLimits.inFlight),
            /** How many bytes these requests and their answers may have in memory at once. */
            inFlightBytes: bytesSchema(inFlightBytesMin).default(defaultLimits.inFlightBytes),
          })
          .default(defaultLimits),
      }),
    }),
  ]),
});

export type AgentConfig = z.infer<typeof agentConfigSchema>;

/** Throws BadRequest with the file, the field and a remedy. */
export function parseAgentConfig(text: string, file: string): AgentConfig {
  return Object.freeze(consistent(parseConfig(text, file, agentConfigSchema, 'configuration of an agent'), file));
}

function consistent(config: AgentConfig, file: string): AgentConfig {
  if (config.pki.secret && !('kubernetes' in config.cluster)) {
    const place = 'joinToken' in config.pki ? 'in its data directory' : 'in the files of pki';
    const reason = `An embedded cluster has no such Secret; the agent keeps its identity ${place}`;
    throw new BanyanError('BadRequest', `${file}: pki.secret: remove it. ${reason}`);
  }
  if (config.access.metrics.length > 0 && !('kubernetes' in config.cluster)) {
    const remedy = 'bind the ClusterRole banyan:metrics in the cluster';
    throw new BanyanError(
      'BadRequest',
      `${file}: access.metrics: remove it. The roles of an embedded cluster decide: ${remedy}`,
    );
  }
  if (config.streams && !('kubernetes' in config.cluster)) {
    const reason = 'An embedded cluster has no users; whoever may open streams may do everything in the cluster';
    throw new BanyanError('BadRequest', `${file}: streams: remove it. ${reason}`);
  }
  return config;
}
