/**
 * Where the API server is and who the agent is to it: by a kubeconfig, or by the service account of its pod. Read by the Kubernetes client,
 * which knows every way to sign in (certificates, token files that change, OIDC, programs); requests are made by api-client.ts.
 */
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';

export interface Access {
  /** `https://10.0.0.1:443`, perhaps with a path. */
  readonly server: URL;
  /** What each connection and request carries now: certificates, and headers with a token that may change. */
  credentials(): Promise<Credentials>;
}

export type Credentials = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized' | 'headers' | 'auth'
>;

export interface AccessOptions {
  /** Absent: the service account of this pod. */
  readonly kubeconfig?: string | undefined;
  /** Absent: the current one. */
  readonly context?: string | undefined;
}

/** Throws BadRequest that names the file and what is wrong with it. */
export function accessOf(options: AccessOptions): Access {
  const config = load(options);
  const cluster = config.getCurrentCluster();
  const where = options.kubeconfig ?? 'the service account of this pod';
  if (!cluster || !config.getCurrentUser()) {
    const context = config.getCurrentContext();
    throw new BanyanError(
      'BadRequest',
      `${where}: there is no context ${context ?? '(none is current)'} with a cluster and a user; name one that is there by cluster.kubernetes.context`,
    );
  }
  if (!URL.canParse(cluster.server)) {
    throw new BanyanError(
      'BadRequest',
      `${where}: clusters[${cluster.name}].cluster.server is no URL: ${cluster.server}`,
    );
  }
  return {
    server: new URL(cluster.server),
    async credentials() {
      const found: RequestOptions = {};
      try {
        await config.applyToHTTPSOptions(found);
      } catch (error) {
        throw new BanyanError(
          'Unauthorized',
          `${where}: credentials can't be read: ${describeError(error)}`,
          {},
          { cause: error, retry: 'backoff' },
        );
      }
      // Connections are kept by this program's own agent; what others make of `agent` here opens one for each request.
      const { agent: _agent, ...credentials } = found;
      return credentials;
    },
  };
}

function load({ kubeconfig, context }: AccessOptions): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromCluster();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    throw new BanyanError(
      'BadRequest',
      `${kubeconfig}: not a kubeconfig: ${describeError(error)}`,
      {},
      { cause: error },
    );
  }
  if (context !== undefined) config.setCurrentContext(context);
  return config;
}
