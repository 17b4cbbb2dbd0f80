/** Converts the text of a topology file to a Topology. If the file has problems, returns all of them with their lines. */
import { isIP } from 'node:net';
import * as z from 'zod';
import { topologyAuditSchema } from '../../core/audit/audit-config.ts';
import { frontProxySchema } from '../../core/authentication/front-proxy.ts';
import { topologyEncryptionSchema } from '../../core/encryption/encryption-config.ts';
import { limitsSchema } from '../../core/entries/deletion-guard.ts';
import { issuedSchema } from '../../core/identity/certificate-validity.ts';
import { replicasMax } from '../../core/identity/replica.ts';
import { claimsSchema } from '../../core/match/claims.ts';
import { acceptSchema, spaceSchema } from '../../core/match/delivery-config.ts';
import { addressSchema, hostSchema } from '../../core/object/checked-text.ts';
import { checkDnsSubdomain } from '../../core/object/names.ts';
import { fileProblems, located } from '../../core/runtime/config-file.ts';
import { egressSchema } from '../../core/runtime/egress.ts';
import { logRotationSchema } from '../../core/runtime/log-rotation.ts';
import { checkSchema, type SchemaProblem } from '../../core/runtime/schema-problems.ts';
import { refusing } from '../../core/runtime/schema-words.ts';
import { type FileProblem, parseYamlFile } from '../../core/runtime/yaml-text.ts';
import { linkOptionsSchema } from '../../core/wire/dialer/link-options.ts';
import { childQuotaSchema } from '../../relay/config/config.ts';
import { checkTopology } from './check.ts';
import type { NamedFileCheck, Topology } from './topology.ts';
import { withoutProblems } from './without-problems.ts';

const strings = z.record(z.string(), z.string());
const port = z.number().int().min(1).max(65_535);
const listen = z.strictObject({
  host: z
    .string()
    .refine(isHost, {
      error: refusing('write an address without brackets, port or zone, such as 127.0.0.1 or ::1, or a DNS name'),
    })
    .default('127.0.0.1')
    .describe('An IP address, for IPv6 without brackets, or a DNS name.'),
  apiPort: port.optional().describe('Port of the Kubernetes API. Default: a free port.'),
  meshPort: port.optional().describe('Port for children. Default: a free port.'),
  terminatedTls: z
    .boolean()
    .default(false)
    .describe(
      'Accept children without a TLS certificate. Each child proves its identity by a signature; its link has to set terminatedTls too.',
    ),
});
const link = linkOptionsSchema.extend({
  endpoint: addressSchema
    .optional()
    .describe(
      'host:port to dial for the parent, such as a load balancer. Default: the address where the parent listens.',
    ),
});
const relayAccess = z
  .strictObject({
    fromAbove: z
      .string()
      .min(1)
      .default('cluster-admin')
      .describe(
        'What users of nodes above may do at this node, its spaces and below. `grants`: what the roles and AccessGrants of this node say. `none`: nothing. Otherwise the name of a ClusterRole of this node.',
      ),
  })
  .describe('Rights of users whom other nodes have authenticated.');
const clusterAccess = z
  .strictObject({
    fromAbove: z
      .enum(['grants', 'none', 'cluster-admin'])
      .default('cluster-admin')
      .describe(
        "What users of nodes above may do at the cluster. `grants`: what the cluster's own roles say. `none`: nothing. `cluster-admin`: everything.",
      ),
    metrics: z
      .array(z.string().min(1))
      .optional()
      .describe(
        'Users who may read the metrics of an agent beside a real cluster, such as center:system:serviceaccount:monitoring:prometheus. At an embedded cluster, the roles of the cluster decide.',
      ),
  })
  .describe('Rights of users whom other nodes have authenticated.');
const authentication = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .describe('File with an AuthenticationConfiguration of Kubernetes, relative to the topology file.'),
  })
  .describe('Issuers of tokens (OpenID Connect) by which people sign in at this node.');
const frontProxy = frontProxySchema.describe(
  'Proxies that name the user of a request in headers, as kube-apiserver takes them. Files are relative to the topology file. Default: such headers mean nothing.',
);
const egress = egressSchema.describe('Which addresses the node calls for users: webhooks of rollout gates.');
const audit = topologyAuditSchema.describe(
  'Log of requests, NODE-audit.log in logs/ of the data directory. Default: none.',
);
const encryption = topologyEncryptionSchema.describe(
  'Which objects are sealed in the store of this node. Default: Secrets, with a key of its own in keys/ of the data directory.',
);
const ways = ['chart', 'machine'] as const;
const nodeDeployment = z
  .strictObject({
    as: z
      .enum(ways)
      .default('chart')
      .describe('chart: on Kubernetes, by helm. machine: by systemd, as `banyan init` installs a node.'),
    names: z
      .array(hostSchema)
      .default([])
      .describe(
        'DNS names and IP addresses of the API, for the certificate. Children reach the node at the first one, unless their link has an endpoint.',
      ),
  })
  .describe('How the node is installed elsewhere, for `banyan topology render` and `apply`. `banyan up` runs it here.');
const clusterDeployment = z
  .strictObject({
    as: z
      .enum(ways)
      .describe(
        'chart: the agent runs in its cluster, by helm. machine: by systemd, beside the cluster of `provider`. Default: chart if `provider` is a kubeconfig, otherwise machine.',
      ),
  })
  .describe(
    'How the agent is installed elsewhere, for `banyan topology render` and `apply`. `banyan up` runs it here.',
  );
const relay = z.strictObject({
  name: z.string().describe("The last part of the relay's path."),
  parent: z.string().default('').describe('Path of the node above, such as eu:paris. Default: the center.'),
  labels: strings.default({}).describe('Labels that the Locations below inherit, unless they set the key themselves.'),
  spaces: z
    .array(spaceSchema)
    .default([])
    .describe('Kubernetes API endpoints of this relay, each with its own objects.'),
  replicas: z
    .number()
    .int()
    .min(1)
    .max(replicasMax)
    .default(1)
    .describe(
      'Number of processes that share this path, each a complete copy. If one ends, its children go to another.',
    ),
  link: link.optional(),
  listen: listen.optional(),
  issuer: issuedSchema.optional(),
  limits: limitsSchema.optional(),
  egress: egress.optional(),
  audit: audit.optional(),
  encryption: encryption.optional(),
  access: relayAccess.optional(),
  claims: claimsSchema
    .optional()
    .describe(
      'What the relay and the nodes below it may claim beyond the labels and properties that this file gives them: their parent and the nodes above ignore everything else. Default: everything except the path of another node, and label and property keys that this file gives only to other parts of the tree.',
    ),
  quota: childQuotaSchema.optional(),
  authentication: authentication.optional(),
  frontProxy: frontProxy.optional(),
  deploy: nodeDeployment.optional(),
});
const cluster = z.strictObject({
  name: z.string().describe('Name of the cluster, its agent, its Location and its SyncTarget.'),
  parent: z.string().default('').describe('Path of the node above. Default: the center.'),
  labels: strings.default({}).describe('Labels of the Location. Placements select by them.'),
  annotations: strings.default({}).describe('Annotations of the Location.'),
  properties: strings.default({}).describe('Properties of the SyncTarget.'),
  link: link.optional(),
  limits: limitsSchema.optional(),
  audit: audit.optional(),
  encryption: encryption.optional(),
  access: clusterAccess.optional(),
  quota: childQuotaSchema.optional(),
  accept: acceptSchema.optional(),
  deploy: clusterDeployment.optional(),
  provider: z
    .strictObject({
      embedded: z.strictObject({}).optional().describe("A cluster in the agent's process, for trials and tests."),
      kubeconfig: z
        .strictObject({
          path: z.string().min(1).describe('Path of the kubeconfig, relative to the topology file.'),
          context: z
            .string()
            .min(1)
            .optional()
            .describe("Context of the kubeconfig. Default: the file's current context."),
          uid: z
            .string()
            .min(1)
            .optional()
            .describe(
              'uid of the namespace kube-system, which identifies the cluster. Default: the uid at the first contact.',
            ),
        })
        .optional()
        .describe('A real cluster.'),
    })
    .refine(({ embedded, kubeconfig }) => (embedded === undefined) !== (kubeconfig === undefined), {
      error: 'a cluster is either embedded or has a kubeconfig: give exactly one of the two',
    })
    .default({ embedded: {} }),
});
export const topologySchema = z.strictObject({
  apiVersion: z.literal('banyan.io/v1alpha1'),
  kind: z.literal('Topology'),
  metadata: z.strictObject({ name: z.string() }),
  spec: z.strictObject({
    center: z
      .strictObject({
        labels: strings.default({}),
        spaces: z.array(spaceSchema).default([]),
        listen: listen.optional(),
        issuer: issuedSchema.optional(),
        limits: limitsSchema.optional(),
        egress: egress.optional(),
        authentication: authentication.optional(),
        frontProxy: frontProxy.optional(),
        audit: audit.optional(),
        encryption: encryption.optional(),
        deploy: nodeDeployment.optional(),
      })
      .default({ labels: {}, spaces: [] }),
    relays: z.array(relay).default([]),
    clusters: z.array(cluster).default([]),
    logs: logRotationSchema.optional().describe('Logs of each node, in logs/ of the data directory of `banyan up`.'),
  }),
});

function isHost(text: string): boolean {
  return text.includes('%') ? false : isIP(text) !== 0 || checkDnsSubdomain(text.toLowerCase()) === undefined;
}

export type ParseResult = { readonly topology: Topology } | { readonly problems: readonly FileProblem[] };

export function parseTopology(text: string, fileProblem: NamedFileCheck = () => undefined): ParseResult {
  const parsed = parseYamlFile(text);
  if ('problems' in parsed) return parsed;
  const yaml = parsed.value;
  const checked = checkSchema(topologySchema, yaml.value);
  if ('problems' in checked) {
    const rest = withoutProblems(topologySchema, yaml.value, checked.problems);
    const others = rest ? checkRest(topologyOf(rest), checked.problems, fileProblem) : [];
    return { problems: byLine(fileProblems([...checked.problems, ...others], yaml, 'topology')) };
  }
  const topology = topologyOf(checked.value);
  const problems = checkTopology(topology, fileProblem).map((problem) => located(problem, yaml.lineOf));
  return problems.length > 0 ? { problems: byLine(problems) } : { topology };
}

function byLine(problems: readonly FileProblem[]): FileProblem[] {
  return problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

function topologyOf({ metadata, spec }: z.infer<typeof topologySchema>): Topology {
  return { name: metadata.name, ...spec };
}

/** Checks a topology in which values with problems were replaced. These values give no further problems. */
function checkRest(
  topology: Topology,
  problems: readonly SchemaProblem[],
  fileProblem: NamedFileCheck,
): SchemaProblem[] {
  const isReplaced = (path: SchemaProblem['path']) =>
    problems.some((problem) => problem.path.every((part, i) => path[i] === part));
  // A relay whose path is not known may be the parent of any other node.
  const knowsRelays = problems.every(({ path: [spec, relays, , key] }) => {
    if (spec !== 'spec') return spec !== undefined;
    return relays === 'relays' ? key !== undefined && key !== 'name' && key !== 'parent' : relays !== undefined;
  });
  return checkTopology(topology, fileProblem).filter(
    ({ path }) => !isReplaced(path) && (knowsRelays || path.at(-1) !== 'parent'),
  );
}
