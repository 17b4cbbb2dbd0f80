/**
 * The authority of a tree whose center has no supervisor: on Kubernetes, or on a machine of its own. The center makes the keys and certificates at its first
 * start and keeps them in its data directory, with a kubeconfig of an administrator. While the center runs, it replaces certificates in time.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/runtime/clock.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { hostPort } from '../../core/runtime/host-port.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { NodeConfig } from '../../relay/config/config.ts';
import { DataDirectory } from './data-directory.ts';
import { contextsOf, kubeconfig } from './kubeconfig.ts';
import { ensureTreePki, treeIn } from './tree-pki.ts';

export type OwnAuthority = Extract<NodeConfig['pki'], { tree: string }>;

/** The interval at which the center looks for certificates that are due. They are due months before they end. */
const lookEveryMs = 12 * 3_600_000;

/** Returns the configuration with the files of the authority. Throws BadRequest if the data directory is of another tree. */
export async function withOwnAuthority(
  config: NodeConfig,
  own: OwnAuthority,
  log: Logger,
  clock: Clock = systemClock,
): Promise<NodeConfig> {
  const pki = await makeAuthority(config, own, clock);
  const lookAgain = () => {
    clock.after(lookEveryMs, () => {
      void makeAuthority(config, own, clock)
        .catch((error: unknown) => log.error({ err: error }, 'certificates that are due were not replaced'))
        .finally(lookAgain);
    });
  };
  lookAgain();
  return { ...config, pki };
}

/** Makes what is missing or due, and returns the files of it. */
export async function makeAuthority(
  config: Pick<NodeConfig, 'data' | 'api' | 'path' | 'spaces'>,
  { tree, names }: OwnAuthority,
  clock: Clock,
): Promise<NodeConfig['pki']> {
  const data = new DataDirectory(config.data);
  checkPlace(config, tree, data);
  const node = { id: '', path: '', role: 'center', replica: 0, replicas: 1 } as const;
  const host = reachable(config.api.host);
  const pki = await ensureTreePki(
    data,
    tree,
    [{ ...node, names, listen: { host, terminatedTls: false }, admits: 'any' }],
    clock,
  );
  const url = `https://${hostPort(host, config.api.port)}`;
  const contexts = contextsOf([{ ...node, spaces: config.spaces }], () => url);
  writeWhole(data.kubeconfig, kubeconfig(contexts, { caPem: pki.caPem, ...pki.admin }));
  return {
    ca: pki.caFile,
    ...pki.nodeFiles(''),
    issuer: pki.issuerFiles(''),
    subtreeIssuer: pki.subtreeIssuerFiles(''),
    users: { ca: pki.usersFile, signer: pki.userSigner },
  };
}

function checkPlace({ path, api }: Pick<NodeConfig, 'path' | 'api'>, tree: string, data: DataDirectory): void {
  const wrong = (message: string) => new BanyanError('BadRequest', message);
  if (path !== '')
    throw wrong(`path: "${path}": only the center (path: "") makes the authority of its tree (pki.tree)`);
  if (api.port === 0) throw wrong('api.port is missing or 0: with pki.tree, choose a port, such as 6443');
  if (!existsSync(join(data.pki, 'center.crt'))) return;
  const former = treeIn(data);
  if (former === tree) return;
  throw wrong(
    `pki.tree: "${tree}": ${data.pki} has the authority of the tree "${former}": write this name, or choose another data directory`,
  );
}

/** A host at which programs of this machine reach a server that listens on `host`. */
function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? 'localhost' : host;
}
