/** From the text of a topology file to a Topology, or to all its problems with their lines. */
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
    .describe('An address, of IPv6 without brackets, or a DNS name.'),
  apiPort: port.optional().describe('Of the Kubernetes API; a free one if left out.'),
  meshPort: port.optional().describe('Where children attach; a free one if left out.'),
  terminatedTls: z
    .boolean()
    .default(false)
    .describe(
      'Takes children without a certificate of TLS, who then prove who they are by signature: their link has terminatedTls too.',
    ),
});
const link = linkOptionsSchema.extend({
  endpoint: z
    .string()
    .regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:[\]]+):\d{1,5}$/, 'write host:port, or [address]:port for IPv6')
    .optional()
    .describe('host:port where the parent is reached, such as that of a load balancer; where it listens if left out.'),
});
const relay = z.strictObject({
  name: z.string().describe("The last part of the relay's path."),
  parent: z.string().default('').describe('Path of the node above, such as eu:paris; the center if left out.'),
  labels: strings.default({}).describe('Inherited by the Locations below, unless they set the key themselves.'),
  spaces: z.array(space).default([]).describe('Kubernetes API endpoints of their own at this relay.'),
  replicas: z
    .number()
    .int()
    .min(1)
    .max(replicasMax)
    .default(1)
    .describe('Processes that share this path, each a whole copy; when one ends, its children go on with another.'),
  link: link.optional(),
  listen: listen.optional(),
  issuer: issuedSchema.optional(),
  limits: limitsSchema.optional(),
});
const cluster = z.strictObject({
  name: z.string().describe('Of the cluster, its agent, its Location and its SyncTarget.'),
  parent: z.string().default('').describe('Path of the node above; the center if left out.'),
  labels: strings.default({}).describe('Labels of the Location: what placements select by.'),
  annotations: strings.default({}).describe('Annotations of the Location.'),
  properties: strings.default({}).describe('Properties of the SyncTarget.'),
  link: link.optional(),
  limits: limitsSchema.optional(),
  provider: z
    .strictObject({
      embedded: z.strictObject({}).optional().describe("In the agent's process, for trying out and for tests."),
      kubeconfig: z
        .strictObject({
          path: z.string().min(1).describe('File; relative to the topology file.'),
          context: z.string().min(1).optional().describe('Of the file; its current one if left out.'),
          uid: z
            .string()
            .min(1)
            .optional()
            .describe('Of its namespace kube-system: which cluster it is; the one that it was at first if left out.'),
        })
        .optional()
        .describe('A real cluster.'),
    })
    .refine(({ embedded, kubeconfig }) => (embedded === undefined) !== (kubeconfig === undefined), {
      error: 'a cluster is either embedded or that of a kubeconfig: give one of the two',
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
    logs: logRotationSchema.optional().describe('Of each node, below logs/ in the data directory of `banyan up`.'),
  }),
});

function isHost(text: string): boolean {
  return text.includes('%') ? false : isIP(text) !== 0 || checkDnsSubdomain(text.toLowerCase()) === undefined;
}

/** A file of a tree of 100,000 clusters has some 30 MB; aliases could blow a small one up. */
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
  const known = knownKeys(issue.path);
  return issue.keys.map((key) => {
    const near = suggest(key, known);
    const remedy = near ? `did you mean "${near}"?` : `known keys are: ${known.join(', ')}`;
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

/** Line of the key at a path, or of the nearest thing above it that is there. */
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
