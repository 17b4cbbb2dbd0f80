/** Sends requests to the API server of a kubeconfig, as the user of the kubeconfig or as somebody whom this user impersonates. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';

export interface CallerAnswer {
  readonly status: number;
  readonly text: string;
  /** The texts of the headers `Warning`, in their order. */
  readonly warnings: readonly string[];
  readonly bytes: Buffer;
  /** The media type of the text. */
  readonly type: string;
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users: readonly {
    readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string };
  }[];
}

export class ApiCaller implements Disposable {
  readonly #server: string;
  readonly #agent: Agent;

  constructor(kubeconfigFile: string) {
    const { clusters, users } = parse(readFileSync(kubeconfigFile, 'utf8')) as Kubeconfig;
    const { cluster } = clusters[0]!;
    const { user } = users[0]!;
    const decode = (data: string) => Buffer.from(data, 'base64').toString();
    this.#server = cluster.server;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 8,
      ca: decode(cluster['certificate-authority-data']),
      cert: decode(user['client-certificate-data']),
      key: decode(user['client-key-data']),
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  call(
    method: string,
    path: string,
    options: {
      /** A Buffer is sent as it is, everything else as JSON. */
      readonly body?: unknown;
      /** The body as it is sent, instead of `body` as JSON. */
      readonly sent?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly accept?: string;
      readonly as?: { readonly name: string; readonly groups: readonly string[] };
    } = {},
  ): Promise<CallerAnswer> {
    const { body, as, accept } = options;
    const sent = options.sent ?? (body === undefined || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    const headers: Record<string, string | string[]> = {
      'content-type': 'application/json',
      ...(accept === undefined ? {} : { accept }),
      ...options.headers,
    };
    if (as) {
      headers['impersonate-user'] = as.name;
      if (as.groups.length > 0) headers['impersonate-group'] = [...as.groups];
    }
    // Node sends no length of the body of a DELETE by itself.
    if (sent !== undefined) headers['content-length'] = String(Buffer.byteLength(sent));
    return new Promise((resolve, reject) => {
      const asked = request(`${this.#server}${path}`, { method, headers, agent: this.#agent }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          const bytes = Buffer.concat(parts);
          const { statusCode: status = 0, headers: got } = response;
          const warnings = response.headersDistinct.warning ?? [];
          resolve({ status, text: bytes.toString('utf8'), bytes, type: got['content-type'] ?? '', warnings });
        });
        response.on('error', reject);
      });
      asked.on('error', reject);
      asked.end(sent);
    });
  }
}
