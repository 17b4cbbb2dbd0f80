/**
 * Admits a relay that runs elsewhere: makes its Node object at each replica of its parent. The object has the hosts of the relay's API. Deleting it shuts the
 * relay out.
 */
import { nameOf, objectName, parentOf, shownPath } from '../../core/identity/node-path.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type Admitted, type Api, admittedAt, useEach } from './admission.ts';
import { nodeContexts } from './node-contexts.ts';
import { syncTargets } from './object-paths.ts';
import { UsageError } from './usage-error.ts';

export interface RelayAdmissionRequest {
  /** `eu:paris` */
  readonly path: string;
  /** The DNS names and IP addresses of the relay's API. */
  readonly hosts: readonly string[];
  /** Whether the relay was admitted before. Without `hosts`, the earlier ones stay. */
  readonly again: boolean;
}

const apiVersion = 'mesh.banyan.io/v1alpha1';
const nodes = `/apis/${apiVersion}/nodes`;

/** Like `admission`: checks everything first, and returns the function that admits the relay. */
export async function relayAdmission(
  api: Api,
  { path, hosts, again }: RelayAdmissionRequest,
  warn: (line: string) => void,
): Promise<() => Promise<Admitted>> {
  const contexts = nodeContexts(api.contexts(), parentOf(path));
  if (contexts.length === 0) {
    const context = `node/${shownPath(parentOf(path))}`;
    throw new BanyanError('NotFound', `the kubeconfig has no ${context}: the parent of a relay is a relay of the tree`);
  }
  const silent = new Map<string, string>();
  const asked = contexts.map((context) => ({ context }));
  const places = await useEach(asked, silent, async ({ context }) => ({
    context,
    node: await api.get(context, `${nodes}/${objectName(path)}`),
    target: await api.get(context, `${syncTargets}/${nameOf(path)}`),
  }));
  const agentAt = places.find(({ target }) => target);
  if (agentAt) throw new UsageError(`the path "${path}" is that of an agent (${agentAt.context}): leave out --relay`);
  const known = places.find(({ node }) => node);
  if (again && !known) {
    const at = places.map(({ context }) => context).join(', ');
    throw new BanyanError('NotFound', `--again: there is no "${path}" at ${at}: leave it out to admit the relay`);
  }
  if (!again && known) {
    const remedy = 'choose another name, or --again to admit the same relay once more';
    throw new BanyanError('Conflict', `"${path}" is taken at ${known.context}: ${remedy}`);
  }
  const object = nodeOf(path, hosts.length > 0 ? hosts : hostsOf(known?.node));
  return async () => {
    const replicas = await useEach(places, silent, async ({ context }) => ({
      context,
      owner: await api.apply(context, `${nodes}/${objectName(path)}`, object),
    }));
    return admittedAt(path, { replicas, silent }, cliCommand('join-token', '--relay', path, '--again'), warn);
  };
}

function nodeOf(path: string, hosts: readonly string[]): KubeObject {
  const spec = { path, role: 'Relay', ...(hosts.length > 0 ? { hosts } : {}) };
  return { apiVersion, kind: 'Node', metadata: { name: objectName(path) }, spec };
}

function hostsOf(node: KubeObject | undefined): readonly string[] {
  return ((node?.spec ?? {}) as { readonly hosts?: readonly string[] }).hosts ?? [];
}
