/** Signs in users who use a program, a provider or a password. The Kubernetes client knows all these ways. */
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { type Credentials, unreadable } from './credentials.ts';

/** Returns the function that signs in. `file` has passed readKubeconfig. */
export function signIn(file: string, context: string | undefined): () => Promise<Credentials> {
  const config = new KubeConfig();
  config.loadFromFile(file);
  if (context !== undefined) config.setCurrentContext(context);
  return async () => {
    const found: RequestOptions = {};
    try {
      await config.applyToHTTPSOptions(found);
    } catch (error) {
      throw unreadable(file, error);
    }
    // The agent of this program keeps connections open. The client's `agent` would open a connection for each request.
    const { agent: _agent, ...credentials } = found;
    return credentials;
  };
}
