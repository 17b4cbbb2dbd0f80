/**
 * Finds the API server and the agent's credentials for it, by the service account of the agent's pod or by a kubeconfig. This file reads certificates and
 * tokens. Only for users who sign in by a program, a provider or a password, it loads the Kubernetes client. The client needs 80 MB, which a small machine
 * should not spend.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { hostPort } from '../../../core/runtime/host-port.ts';
import { ChangingKubeconfig, type KubeconfigEvents, type KubeconfigReading } from './changing-kubeconfig.ts';
import { type Credentials, unreadable } from './credentials.ts';
import { type ClusterAccess, readKubeconfig, type Source } from './kubeconfig.ts';

export interface Access {
  /** `https://10.0.0.1:443`, perhaps with a path. */
  readonly server: URL;
  /**
   * Returns the present credentials for connections and requests: certificates, and headers with a token that may change. Throws Unauthorized if they can't
   * be read.
   */
  credentials(): Promise<Credentials>;
}

export interface AccessOptions {
  /** Absent: the service account of this pod. */
  readonly kubeconfig?: string | undefined;
  /** Absent: the current context. */
  readonly context?: string | undefined;
}

/** The service of the API server in its own cluster, as the environment of a pod names it. */
export interface PodEnvironment {
  readonly host: string | undefined;
  readonly port: string | undefined;
  /** The folder where the service account is mounted: https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/ */
  readonly directory: string;
}

/** Throws BadRequest with the name of the file, and the reason why the agent can't use the file. */
export async function accessOf(
  options: AccessOptions,
  pod: PodEnvironment,
  events: Partial<KubeconfigEvents> = {},
): Promise<Access> {
  const { kubeconfig, context } = options;
  if (kubeconfig !== undefined) {
    return ChangingKubeconfig.open(kubeconfig, () => readingOf(kubeconfig, context), events);
  }
  const access = ofPod(pod);
  const { credentials } = readingBy(access, 'the service account of this pod');
  return { server: access.server, credentials };
}

async function readingOf(kubeconfig: string, context: string | undefined): Promise<KubeconfigReading> {
  const access = readKubeconfig(kubeconfig, context);
  if (!access.signsInOtherwise) return readingBy(access, kubeconfig);
  const { signIn } = await import('./sign-in.ts');
  return { access, credentials: signIn(kubeconfig, context) };
}

function readingBy(access: ClusterAccess, where: string): KubeconfigReading {
  const { serverName, skipsVerification } = access;
  return {
    access,
    async credentials() {
      try {
        const [ca, cert, key, token] = await Promise.all(
          [access.ca, access.cert, access.key, access.token].map(contentOf),
        );
        return {
          ...(ca ? { ca } : {}),
          ...(cert ? { cert } : {}),
          ...(key ? { key } : {}),
          ...(token ? { headers: { Authorization: `Bearer ${token.toString('utf8').trim()}` } } : {}),
          ...(serverName ? { servername: serverName } : {}),
          ...(skipsVerification ? { rejectUnauthorized: false } : {}),
        };
      } catch (error) {
        throw unreadable(where, error);
      }
    },
  };
}

function ofPod({ host, port, directory }: PodEnvironment): ClusterAccess {
  if (!host || !port || !existsSync(`${directory}/token`)) {
    throw new BanyanError(
      'BadRequest',
      `cluster.kubernetes.kubeconfig is absent, and this is no pod with a service account (KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and ${directory}/token are needed); name a kubeconfig`,
    );
  }
  return {
    server: new URL(`https://${hostPort(host, port)}`),
    ca: { file: `${directory}/ca.crt` },
    token: { file: `${directory}/token` },
    skipsVerification: false,
    signsInOtherwise: false,
  };
}

async function contentOf(source: Source | undefined): Promise<Buffer | undefined> {
  return source && ('content' in source ? source.content : readFile(source.file));
}
