/** How a benchmark reaches a Kubernetes API: by a context of a kubeconfig. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';

interface Kubeconfig {
  readonly clusters: { name: string; cluster: { server: string; [key: string]: string } }[];
  readonly users: { name: string; user: Record<string, string> }[];
  readonly contexts: { name: string; context: { cluster: string; user: string } }[];
}

export interface Credentials {
  readonly server: string;
  readonly tls: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };
}

export function credentialsOf(file: string, context: string): Credentials {
  const config = parse(readFileSync(file, 'utf8')) as Kubeconfig;
  const { cluster, user } = config.contexts.find(({ name }) => name === context)!.context;
  const { cluster: at } = config.clusters.find(({ name }) => name === cluster)!;
  const { user: as } = config.users.find(({ name }) => name === user)!;
  const read = (from: Record<string, string>, key: string) =>
    from[`${key}-data`] === undefined ? readFileSync(from[key]!) : Buffer.from(from[`${key}-data`]!, 'base64');
  const [ca, cert, key] = [read(at, 'certificate-authority'), read(as, 'client-certificate'), read(as, 'client-key')];
  return { server: at.server, tls: { ca, cert, key } };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A client with one kept connection. */
export class TargetClient {
  readonly #credentials: Credentials;
  readonly #agent: Agent;

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
    this.#agent = new Agent({ ...credentials.tls, keepAlive: true, maxSockets: 1 });
  }

  get(path: string): Promise<Answer> {
    return this.#ask('GET', path);
  }

  /** Creates the object. An object that exists is left as it is. */
  async create(path: string, object: object): Promise<void> {
    const { status } = await this.#ask('POST', path, Buffer.from(JSON.stringify(object)));
    if (status !== 201 && status !== 409) throw new Error(`POST ${path}: status ${status}`);
  }

  close(): void {
    this.#agent.destroy();
  }

  #ask(method: string, path: string, body?: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = body ? { 'content-type': 'application/json', 'content-length': body.length } : {};
      const asked = request(`${this.#credentials.server}${path}`, { method, agent: this.#agent, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.once('error', reject);
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      });
      asked.once('error', reject);
      asked.end(body);
    });
  }
}
