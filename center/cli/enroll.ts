/**
 * `banyan enroll PATH`: admits an agent that runs elsewhere, beside a real cluster. Its SyncTarget and Location are made at its parent, and what it shows
 * there, a certificate for exactly that path, is printed as the Secret that the chart takes (agent.identity.secretName).
 */
import { stringify } from 'yaml';
import { checkDnsLabel, checkDnsSubdomain, checkLabelKey, checkLabelValue } from '../../core/object/names.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { objectName } from '../../relay/tree/node-objects.ts';
import type { AgentCertificate } from '../supervisor/tree-pki.ts';
import type { ApiClient } from './api-client.ts';
import { UsageError } from './up.ts';

export interface Enrolment {
  /** `eu:paris:store-17` */
  readonly path: string;
  /** Of its Location: `env=prod`. */
  readonly labels: readonly string[];
  /** The name of the Secret. */
  readonly secret: string;
  /** It is known already, and gets another certificate. */
  readonly again: boolean;
}

const inventory = '/apis/inventory.banyan.io/v1alpha1';
const nodes = '/apis/mesh.banyan.io/v1alpha1/nodes';

/** The Secret as YAML. Throws Conflict for a name that is taken; then nothing was made. */
export async function enroll(
  api: Pick<ApiClient, 'contexts' | 'get' | 'apply'>,
  { path, labels, secret, again }: Enrolment,
  issue: (path: string) => Promise<AgentCertificate>,
): Promise<string> {
  const names = path.split(':');
  const wrong = names.map(checkDnsLabel).find((problem) => problem !== undefined);
  if (wrong) throw new UsageError(`"${path}" is no path of an agent, such as eu:paris:store-17: ${wrong}`);
  const wrongSecret = checkDnsSubdomain(secret);
  if (wrongSecret) throw new UsageError(`--secret: "${secret}": ${wrongSecret}`);
  const told = Object.fromEntries(labels.map(labelOf));
  const name = names.at(-1)!;
  const context = `node/${names.slice(0, -1).join(':') || 'center'}`;
  if (!api.contexts().includes(context)) {
    throw new BanyanError(
      'NotFound',
      `the kubeconfig has no ${context}: the parent of an agent is a relay of the tree`,
    );
  }
  const target = `${inventory}/synctargets/${name}`;
  const isKnown = (await api.get(context, target)) !== undefined;
  if (isKnown !== again) throw again ? unknown(path, context) : taken(path, context);
  if (!isKnown && (await api.get(context, `${nodes}/${objectName(path)}`))) throw taken(path, context);
  const { caPem, certPem, keyPem } = await issue(path);
  if (!isKnown) {
    const apiVersion = 'inventory.banyan.io/v1alpha1';
    const metadata = { name, labels: told };
    await api.apply(context, target, { apiVersion, kind: 'SyncTarget', metadata, spec: {} });
    await api.apply(context, `${inventory}/locations/${name}`, { apiVersion, kind: 'Location', metadata, spec: {} });
  }
  return stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secret },
    type: 'kubernetes.io/tls',
    stringData: { 'ca.crt': caPem, 'tls.crt': certPem, 'tls.key': keyPem },
  });
}

function labelOf(text: string): [string, string] {
  const [key = '', value, ...more] = text.split('=');
  if (value === undefined || more.length > 0) throw new UsageError(`--label: "${text}" is not of the form key=value`);
  const wrong = checkLabelKey(key) ?? checkLabelValue(value);
  if (wrong) throw new UsageError(`--label: "${text}": ${wrong}`);
  return [key, value];
}

function taken(path: string, context: string): BanyanError {
  return new BanyanError(
    'Conflict',
    `"${path}" is taken at ${context}: choose another name, or --again for another certificate of the same agent`,
  );
}

function unknown(path: string, context: string): BanyanError {
  return new BanyanError('NotFound', `--again: there is no "${path}" at ${context}: leave it out to admit the agent`);
}
