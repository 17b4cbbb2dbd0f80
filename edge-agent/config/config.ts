/** The configuration of an agent: one YAML file, checked whole before anything starts. */
import { parse } from 'yaml';
import * as z from 'zod';
import { limitsSchema } from '../../core/entries/deletion-guard.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { logRotationSchema } from '../../core/runtime/log-rotation.ts';
import { linkOptionsSchema } from '../../core/wire/dialer/link-options.ts';
import { defaultPace } from '../cluster/embedded/controllers/pace.ts';
import { defaultLimits, inFlightBytesMin } from '../cluster/kubernetes/client-limits.ts';
import { bytesSchema } from '../limits/byte-quantity.ts';

/** Names of Kubernetes objects: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ */
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsName = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;
/** Node alone, with the program, is not much less. */
const memoryMin = 96 * 2 ** 20;
const milliseconds = z.number().int().min(0);

const secret = z.strictObject({
  namespace: z.string().regex(dnsLabel, 'must be the name of a namespace'),
  name: z.string().regex(dnsName, 'must be the name of a Secret'),
});

const agentConfigSchema = z.strictObject({
  /** The agent's place in the tree: `eu:paris:store-17`. */
  path: z.string().min(1),
  /** Directory of the agent's store; it holds the embedded cluster too. */
  data: z.string().min(1),
  /** JSON lines; absent: standard output. */
  logFile: z.string().optional(),
  logRotation: logRotationSchema.optional(),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Written whole once the agent serves: {url, pid}. */
  statusFile: z.string().optional(),
  /** Where the parent listens for its children, its path, and the addresses of its other replicas, in the order in which they are tried when it does not answer. */
  parent: z.strictObject({
    address: z.string().min(1),
    path: z.string(),
    replicas: z.array(z.string().min(1)).optional(),
  }),
  /** How the parent is reached. */
  link: linkOptionsSchema.prefault({}),
  pki: z.union([
    /** PEM files: the tree's authority, and this agent's certificate and key. */
    z.strictObject({
      ca: z.string().min(1),
      cert: z.string().min(1),
      key: z.string().min(1),
      /** The Secret of the cluster that they are mounted from: a certificate that the agent renews goes there, and otherwise into the file. */
      secret: secret.optional(),
    }),
    /** A file with a join token: the agent makes its key and asks its parent for these, once, and keeps them in its data directory. */
    z.strictObject({
      joinToken: z.string().min(1),
      /** A Secret of the cluster that is there, empty at first, instead of the data directory: several agents with one identity keep it there. */
      secret: secret.optional(),
    }),
  ]),
  /** Where the API of the embedded cluster is served, beside /readyz; port 0 takes a free one. */
  api: z
    .strictObject({ host: z.string().default('127.0.0.1'), port: z.number().int().min(0).max(65_535).default(0) })
    .default({ host: '127.0.0.1', port: 0 }),
  /** `deletions`: what it keeps back until a person has said so. */
  limits: limitsSchema
    .extend({
      /** Bytes resident; an agent with more for some time ends in order, to be started again. Absent: only its container bounds it. */
      memory: bytesSchema(memoryMin).optional(),
    })
    .optional(),
  /** What those above may ask of the cluster by streams: kubectl's get, logs and exec through the tree. Absent: nothing. */
  streams: z
    .strictObject({
      cluster: z.strictObject({
        /** Users of the tree who may, `*`: all whom it lets through. What each may do there is what the cluster gives them. */
        users: z.array(z.string().min(1)).min(1),
        /** Of their groups, those that the cluster is told of. */
        groups: z.array(z.string().min(1)).default([]),
        /** Before the names of both, so that they are nobody whom the cluster knows already. */
        prefix: z.string().default('banyan:'),
      }),
    })
    .optional(),
  /** One of the two. */
  cluster: z.union([
    z.strictObject({
      /** The mesh's own API server with controllers that play workloads forward. */
      embedded: z.strictObject({
        /** Bounds of the time between two stations of a pod's life. */
        stepMinMs: milliseconds.default(defaultPace.stepMinMs),
        stepMaxMs: milliseconds.default(defaultPace.stepMaxMs),
        /** A rollout without progress is called failed after this at the latest. */
        progressDeadlineMaxMs: milliseconds.default(defaultPace.progressDeadlineMaxMs),
      }),
    }),
    z.strictObject({
      /** A real one. */
      kubernetes: z.strictObject({
        /** File; absent: the service account of this pod. */
        kubeconfig: z.string().min(1).optional(),
        /** Absent: the current one of the kubeconfig. */
        context: z.string().min(1).optional(),
        /** Of the namespace kube-system: which cluster it is; absent: the one that it was at first. */
        uid: z.string().min(1).optional(),
        /** Several agents have this path and certificate, each with a data directory of its own: the Lease that says which of them is active. */
        lease: z
          .strictObject({
            namespace: z.string().regex(dnsLabel, 'must be the name of a namespace'),
            name: z.string().regex(dnsName, 'must be the name of a Lease'),
            /** By which people know this agent among them; absent: the name of its host. */
            identity: z.string().min(1).optional(),
          })
          .optional(),
        /** What its API server is asked at most. */
        limits: z
          .strictObject({
            requestsPerSecond: z.number().min(1).default(defaultLimits.requestsPerSecond),
            inFlight: z.number().int().min(1).default(defaultLimits.inFlight),
            /** Of these requests and their answers, in memory at once. */
            inFlightBytes: bytesSchema(inFlightBytesMin).default(defaultLimits.inFlightBytes),
          })
          .default(defaultLimits),
      }),
    }),
  ]),
});

export type AgentConfig = z.infer<typeof agentConfigSchema>;

/** Throws BadRequest with the file, the field and what is wrong with it. */
export function parseAgentConfig(text: string, file: string): AgentConfig {
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (error) {
    throw new BanyanError('BadRequest', `${file}: not YAML: ${describeError(error)}`, {}, { cause: error });
  }
  const result = agentConfigSchema.safeParse(raw);
  if (result.success) return Object.freeze(consistent(result.data, file));
  const wrong = result.error.issues.map((issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`);
  throw new BanyanError('BadRequest', `${file}: ${wrong.join('; ')}`);
}

function consistent(config: AgentConfig, file: string): AgentConfig {
  if (config.pki.secret && !('kubernetes' in config.cluster)) {
    const place = 'joinToken' in config.pki ? 'in the data directory' : 'in its files';
    const remedy = `leave it out, and the identity is kept ${place}`;
    throw new BanyanError('BadRequest', `${file}: pki.secret: an embedded cluster has no Secret for that: ${remedy}`);
  }
  if (config.streams && !('kubernetes' in config.cluster)) {
    const remedy = 'leave it out: whoever may open streams may do everything there';
    throw new BanyanError('BadRequest', `${file}: streams: an embedded cluster has no users of its own: ${remedy}`);
  }
  return config;
}
