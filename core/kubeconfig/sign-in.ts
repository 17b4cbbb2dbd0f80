/**
 * Signs in users who use a program, a provider or a password, and reaches clusters behind a proxy. The Kubernetes client knows all these ways. It needs 80 MB
 * and a second, so other files load this one only on demand.
 */
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { unreadable } from './credentials.ts';
import type { Kubeconfig } from './kubeconfig.ts';

/** Returns the function that signs in. The agent in its result opens a connection for each request. `file` is for messages. */
export function signIn(config: Kubeconfig, context: string, file: string): () => Promise<RequestOptions> {
  const client = new KubeConfig();
  client.loadFromString(JSON.stringify(config));
  client.setCurrentContext(context);
  return async () => {
    const found: RequestOptions = {};
    try {
      await client.applyToHTTPSOptions(found);
    } catch (error) {
      throw unreadable(file, error);
    }
    return found;
  };
}
