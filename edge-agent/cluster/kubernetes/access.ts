/**
 * Finds the API server and the agent's credentials for it, by the service account of the agent's pod or by a kubeconfig. This file reads certificates and
 * tokens. Only for users who sign in by a program, a provider or a password, it loads the Kubernetes client. The client needs 80 MB, which a small machine
 * should not spend.
 */
import { existsSync } from 'node:fs';
import { type Credentials, credentialsBy } from '../../../core/kubeconfig/credentials.ts';
import { type ClusterAccess, readKubeconfig } from '../../../core/kubeconfig/kubeconfig.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { hostPort } from '../../../core/runtime/host-port.ts';
import { ChangingKubeconfig, type KubeconfigEvents, type KubeconfigReading } from './changing-kubeconfig.ts';
import { chosenContext } from './kubeconfig.ts';

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
  return { server: access.server, credentials: () => credentialsBy(access, 'the service account of this pod') };
}

async function readingOf(kubeconfig: string, named: string | undefined): Promise<KubeconfigReading> {
  const config = readKubeconfig(kubeconfig);
  const { access, context } = chosenContext(config, kubeconfig, named);
  if (!access.signsInOtherwise) return { access, credentials: () => credentialsBy(access, kubeconfig) };
  const signedIn = (await import('../../../core/kubeconfig/sign-in.ts')).signIn(config, context, kubeconfig);
  // The agent of this program keeps connections open. The client's `agent` would open a connection for each request.
  const credentials = async () => {
    const { agent: _agent, ...found } = await signedIn();
    return found;
  };
  return { access, credentials };
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
