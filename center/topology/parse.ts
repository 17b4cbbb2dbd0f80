/** Converts the text of a topology file to a Topology. If the file has problems, returns all of them with their lines. */
import { isIP } from 'node:net';
import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import * as z from 'zod';
import { limitsSchema } from '../../core/entries/deletion-guard.ts';
import { issuedSchema } from '../../core/identity/certificate-validity.ts';
import { replicasMax } from '../../core/identity/replica.ts';
import { checkDnsSubdomain } from '../../core/object/names.ts';
import { logRotationSchema } from '../../core/runtime/log-rotation.ts';
import { suggest } from '../../core/runtime/suggest.ts';
import { linkOptionsSchema } from '../../core/wire/dialer/link-options.ts';
import { checkTopology, type Problem, type Topology } from './topology.ts';

const strings = z.record(z.string(), z.string());
const space = z.strictObject({
  name: z.string(),
  type: z.enum(['Workload', 'Inventory', 'System']).default('Workload'),
});
const port = z.number().int().min(1).max(65_535);
const listen = z.strictObject({
  host: z
    .string()
    .refine(isHost, 'write an address without brackets, port or zone, such as 127.0.0.1 or ::1, or a DNS name')
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
  endpoint: z
    .string()
    .regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:[\]]+):\d{1,5}$/, 'write host:port, or [address]:port for IPv6')
    .optional()
    .describe(
      'host:port to dial for the parent, such as a load balancer. Default: the address where the parent listens.',
    ),
});
const relay = z.strictObject({
  name: z.string().describe("The last part of the relay's path."),
  parent: z.string().default('').describe('Path of the node above, such as eu:paris. Default: the center.'),
  labels: strings.default({}).describe('Labels that the Locations below inherit, unless they set the key themselves.'),
  spaces: z.array(space).default([]).describe('Kubernetes API endpoints of this relay, each with its own objects.'),
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
});
const cluster = z.strictObject({
  name: z.string().describe('Name of the cluster, its agent, its Location and its SyncTarget.'),
  parent: z.string().default('').describe('Path of the node above. Default: the center.'),
  labels: strings.default({}).describe('Labels of the Location. Placements select by them.'),
  annotations: strings.default({}).describe('Annotations of the Location.'),
  properties: strings.default({}).describe('Properties of the SyncTarget.'),
  link: link.optional(),
  limits: limitsSchema.optional(),
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
        spaces: z.array(space).default([]),
        listen: listen.optional(),
        issuer: issuedSchema.optional(),
        limits: limitsSchema.optional(),
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

/** Limit for the aliases of a file, because aliases can make a small file enormous. A tree of 100,000 clusters has a file of about 30 MB. */
const aliasesMax = 100;

export type ParseResult = { readonly topology: Topology } | { readonly problems: readonly Problem[] };

export function parseTopology(text: string): ParseResult {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  if (document.errors.length > 0) {
    return {
      problems: document.errors.map((error) => ({
        field: 'file',
        message: error.message.split('\n')[0]!,
        line: lines.linePos(error.pos[0]).line,
      })),
    };
  }
  const at = (path: readonly PropertyKey[]) => lineOf(document.contents as Node | null, path, lines);
  const parsed = topologySchema.safeParse(document.toJS({ maxAliasCount: aliasesMax }));
  if (!parsed.success) return { problems: parsed.error.issues.flatMap((issue) => problemsOf(issue, at)) };
  const { metadata, spec } = parsed.data;
  const topology: Topology = { name: metadata.name, ...spec };
  const problems = checkTopology(topology).map((problem) => withLine(problem, at));
  return problems.length > 0 ? { problems } : { topology };
}

/** `FILE:12: spec.relays[0].labls: …` */
export function formatProblem(fileName: string, problem: Problem): string {
  return `${fileName}${problem.line === undefined ? '' : `:${problem.line}`}: ${problem.field}: ${problem.message}`;
}

type Locate = (path: readonly PropertyKey[]) => number | undefined;

function problemsOf(issue: z.core.$ZodIssue, at: Locate): Problem[] {
  if (issue.code !== 'unrecognized_keys') {
    return [withLocated({ field: fieldOf(issue.path), message: issue.message }, at(issue.path))];
  }
  const knownNames = knownKeys(issue.path);
  return issue.keys.map((key) => {
    const near = suggest(key, knownNames);
    const remedy = near ? `did you mean "${near}"?` : `known keys are: ${knownNames.join(', ')}`;
    return withLocated(
      { field: fieldOf([...issue.path, key]), message: `unknown key "${key}"; ${remedy}` },
      at([...issue.path, key]),
    );
  });
}

/** The keys that the schema has at a path of the file. */
function knownKeys(path: readonly PropertyKey[]): string[] {
  let schema: z.core.$ZodType | undefined = topologySchema;
  for (const part of path) {
    schema = unwrap(schema);
    if (schema instanceof z.ZodObject) schema = schema.shape[part as string] as z.core.$ZodType | undefined;
    else if (schema instanceof z.ZodArray) schema = schema.element as z.core.$ZodType;
    else return [];
  }
  schema = unwrap(schema);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function unwrap(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodOptional
    ? unwrap(schema.unwrap() as z.core.$ZodType)
    : schema;
}

function fieldOf(path: readonly PropertyKey[]): string {
  return (
    path.map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i === 0 ? '' : '.'}${String(part)}`)).join('') ||
    'file'
  );
}

function withLine(problem: Problem, at: Locate): Problem {
  const match = /^(spec\.(?:relays|clusters|center)(?:\[\d+\])?)(?:\.(\w+))?(?:\[(\d+)\])?(?:\.(.*))?$/.exec(
    problem.field,
  );
  const parts = match
    ? [...pathOf(match[1]!), ...(match[2] ? [match[2]] : []), ...(match[3] ? [Number(match[3])] : [])]
    : [];
  const deeper = match?.[4] === undefined ? undefined : at([...parts, match[4]]);
  return withLocated(problem, deeper ?? at(parts));
}

function pathOf(field: string): PropertyKey[] {
  return field
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

function withLocated(problem: Problem, line: number | undefined): Problem {
  return line === undefined ? problem : { ...problem, line };
}

/** The line of the key at a path. If the key does not exist, the line of the nearest existing key above it. */
function lineOf(root: Node | null, path: readonly PropertyKey[], lines: LineCounter): number | undefined {
  let node: unknown = root;
  let start = root?.range?.[0];
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === part);
      if (!pair) break;
      start = isNode(pair.key) ? pair.key.range?.[0] : start;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      if (isNode(node)) start = node.range?.[0] ?? start;
    } else {
      break;
    }
  }
  return start === undefined ? undefined : lines.linePos(start).line;
}
