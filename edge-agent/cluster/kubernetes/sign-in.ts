/** Users that sign in by a program, a provider or a password: the Kubernetes client knows every way to do that. */
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { type Credentials, unreadable } from './credentials.ts';

/** For a file that readKubeconfig has read. */
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
    // Connections are kept by this program's own agent; what others make of `agent` here opens one for each request.
    const { agent: _agent, ...credentials } = found;
    return credentials;
  };
}
