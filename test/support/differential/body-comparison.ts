/** A real API server and an own one with real connections, asked the same bad requests. */
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { parse } from 'yaml';
import { ApiBench } from '../../unit/core/apiserver/http/api-bench.ts';
import { acceptedBodies } from './accepted-differences.ts';
import { type BadRequest, badRequests } from './bad-bodies.ts';

/** Status and reason, and what the answer says. */
export interface BodyAnswer {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
}

type Open = (method: string, path: string, headers: Record<string, string>) => ClientHttp2Stream;

export class BodyComparison implements AsyncDisposable {
  readonly #own: ApiBench;
  readonly #real: () => ClientHttp2Session;
  compared = 0;

  private constructor(own: ApiBench, real: () => ClientHttp2Session) {
    this.#own = own;
    this.#real = real;
  }

  static async start(kubeconfigFile: string): Promise<BodyComparison> {
    const { clusters, users } = parse(readFileSync(kubeconfigFile, 'utf8')) as Kubeconfig;
    const decoded = (of: Readonly<Record<string, string>>, name: string) => Buffer.from(of[name]!, 'base64');
    const { cluster } = clusters[0]!;
    const { user } = users[0]!;
    const credentials = {
      ca: decoded(cluster, 'certificate-authority-data'),
      cert: decoded(user, 'client-certificate-data'),
      key: decoded(user, 'client-key-data'),
    };
    const both = new BodyComparison(await ApiBench.start(), () => connect(cluster.server!, credentials));
    const headers = { 'content-type': 'application/json' };
    const create = (path: string, body: object) =>
      both.#answers({ what: '', method: 'POST', path, body: JSON.stringify(body), headers });
    await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'valid' } });
    const till = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'till' }, data: { a: 'b' } };
    await create('/api/v1/namespaces/valid/configmaps', till);
    return both;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own[Symbol.asyncDispose]();
  }

  /** The requests whose answers have another status or reason, with both answers. Every request is followed by one that has to be answered as always. */
  async differences(): Promise<object[]> {
    const found: object[] = [];
    for (const request of badRequests) {
      const [real, own] = await this.#answers(request);
      const [, after] = await this.#answers({
        what: '',
        method: 'GET',
        path: '/api/v1/namespaces/valid/configmaps/till',
      });
      this.compared += 1;
      const isSame = real!.status === own!.status && real!.reason === own!.reason;
      if ((isSame || request.what in acceptedBodies) && after!.status === 200) continue;
      found.push({ what: request.what, real, own, after: after!.status });
    }
    return found;
  }

  /** The API server ends a connection that sends too much. So each request gets a connection of its own there. */
  async #answers(request: BadRequest): Promise<BodyAnswer[]> {
    const session = this.#real();
    session.on('error', () => undefined);
    const opens: readonly Open[] = [
      (method, path, headers) =>
        session.request({ ':method': method, ':path': path, ...headers }, { endStream: false }),
      (method, path, headers) => this.#own.open(method, path, headers),
    ];
    const answers = await Promise.all(opens.map((open) => ask(open, request)));
    session.destroy();
    return answers;
  }
}

/** A server may end the stream before it has read the body. */
function ask(open: Open, { method, path, headers = {}, body }: BadRequest): Promise<BodyAnswer> {
  return new Promise((resolve) => {
    const stream = open(method, path, headers as Record<string, string>);
    let status = 0;
    const chunks: Buffer[] = [];
    const done = () => resolve({ status, ...saidIn(Buffer.concat(chunks).toString()) });
    stream.once('response', (head) => {
      status = Number(head[':status']);
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('end', done);
    stream.once('error', done);
    stream.once('close', done);
    stream.end(body);
  });
}

function saidIn(text: string): Pick<BodyAnswer, 'reason' | 'message'> {
  try {
    const { reason = '', message = '' } = JSON.parse(text) as { reason?: string; message?: string };
    return { reason, message };
  } catch {
    return { reason: '', message: text };
  }
}
