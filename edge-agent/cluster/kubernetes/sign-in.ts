/** Signs in users of programs, providers and passwords. The Kubernetes client knows every way to do this. */
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
    // This program has its own HTTP agent, which keeps connections. The `agent` from the client would open a connection for each request.
    const { agent: _agent, ...credentials } = found;
    return credentials;
  };
}
