/** An API server on a free port with one workload space over a memory store, and a client with a certificate. Everything is real except the disk. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { type Authorizer, onlyPrivileged } from '../../../../../core/access/authorizer.ts';
import { userOfCertificate } from '../../../../../core/access/certificate-user.ts';
import { ApiServer, type ApiServerOptions } from '../../../../../core/apiserver/http/api-server.ts';
import type { ApiTls } from '../../../../../core/apiserver/http/https-listener.ts';
import type { NodeUrls, TreeUrls } from '../../../../../core/apiserver/http/node-urls.ts';
import type { IsRevoked } from '../../../../../core/apiserver/http/request-users.ts';
import { type ApiRequest, jsonResponse } from '../../../../../core/apiserver/http/requests.ts';
import type { Space } from '../../../../../core/apiserver/space.ts';
import { createAuthority, issueNode, issueUser } from '../../../../../core/identity/authority.ts';
import { type Clock, systemClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { systemRandom } from '../../../../../core/runtime/random.ts';
import { type TestSpace, testSpace } from '../kinds/space-support.ts';

export interface Status {
  readonly kind: string;
  readonly status: string;
  readonly message: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly causes?: readonly { reason: string; message: string; field: string }[];
  };
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  /** Texts of the Warning headers. */
  readonly warnings: string;
  readonly text: string;
  readonly bytes: Buffer;
  /** A field of the answer's JSON. */
  json<T>(): T;
}

/** An object is sent as JSON, a text or bytes unchanged. */
export interface Sent {
  readonly body?: object | string | undefined;
  readonly type?: string;
  readonly accept?: string;
}

export interface BenchOptions {
  /** Without a certificate the client is anonymous. */
  readonly certificate?: boolean;
  readonly port?: number;
  readonly clock?: Clock;
  notReady?(): string | undefined;
  /** Renewed certificate files, if they exist. */
  renewed?(): ApiTls | undefined;
  /** The handler of requests below /tree/; absent: the bench answers them. */
  tree?: TreeUrls['way'];
  /** Absent: there are no further URLs. */
  urls?: NodeUrls;
  /** Absent: only members of system:masters may do anything. */
  authorizer?: Authorizer;
  isRevoked?: IsRevoked;
  frontProxy?: ApiServerOptions['frontProxy'];
  /** Absent: the bench has no audit log. */
  audit?: ApiServerOptions['audit'];
}

/** Shared by all benches: one authority, one node and one user, Jo. */
export const tls = issueAll();

async function issueAll() {
  const issuing = { clock: systemClock, random: systemRandom };
  const authority = await createAuthority('test', issuing);
  const node = { tree: 'test', role: 'center', path: '', hosts: ['127.0.0.1'] } as const;
  const server = await issueNode(authority, node, issuing);
  const user = await issueUser(authority, { name: 'jo', groups: ['system:masters'] }, issuing);
  return { ca: Buffer.from(authority.certPem), server, user };
}

export class ApiBench implements AsyncDisposable {
  readonly server: ApiServer;
  readonly url: string;
  readonly space: Space;
  readonly settle: () => void;
  readonly #client: ClientHttp2Session;

  private constructor(server: ApiServer, url: string, { space, settle }: TestSpace, client: ClientHttp2Session) {
    this.server = server;
    this.url = url;
    this.space = space;
    this.settle = settle;
    this.#client = client;
  }

  static async start({
    certificate = true,
    port = 0,
    clock = systemClock,
    notReady,
    renewed,
    tree,
    urls,
    authorizer = onlyPrivileged,
    isRevoked = () => false,
    frontProxy,
    audit,
  }: BenchOptions = {}): Promise<ApiBench> {
    const { ca, server: node, user } = await tls;
    const first = { ca, key: Buffer.from(node.keyPem), cert: Buffer.from(node.certPem) };
    const server = new ApiServer({
      tls: () => renewed?.() ?? first,
      host: '127.0.0.1',
      port,
      clock,
      log: silentLogger,
      authenticate: userOfCertificate,
      authorizer,
      isRevoked,
      frontProxy,
      path: '',
      audit,
      notReady: notReady ?? (() => undefined),
      metrics: () => Promise.resolve('# none\n'),
      ...(urls ? { urls } : {}),
      tree: {
        way: (target, user) => tree?.(target, user),
        answer: ({ method, path, query, user }: ApiRequest) =>
          Promise.resolve(jsonResponse(200, { method, path, query: query.toString(), user: user.name })),
      },
    });
    const opened = testSpace();
    server.mount('', opened.space);
    const url = await server.listen();
    const credentials = certificate ? { key: user.keyPem, cert: user.certPem } : {};
    return new ApiBench(server, url, opened, connect(url, { ca, ...credentials }));
  }

  /** All calls share one HTTP/2 connection, as those of kubectl do. */
  call(method: string, path: string, { body, type, accept }: Sent = {}): Promise<Answer> {
    const headers = {
      ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
      ...(accept === undefined ? {} : { accept }),
    };
    const stream = this.open(method, path, headers, body === undefined);
    const answer = answerOf(stream);
    if (body !== undefined) stream.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    return answer;
  }

  /** A request whose body the test sends piece by piece. */
  open(method: string, path: string, headers: Record<string, string> = {}, endStream = false): ClientHttp2Stream {
    return this.#client.request({ ':method': method, ':path': path, ...headers }, { endStream });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    await this.server[Symbol.asyncDispose]();
  }
}

export function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let head: Record<string, unknown> = {};
    stream.once('response', (headers) => {
      head = headers;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('error', reject);
    stream.once('end', () => {
      const bytes = Buffer.concat(chunks);
      const text = bytes.toString();
      resolve({
        status: Number(head[':status']),
        type: String(head['content-type']),
        warnings: [head.warning ?? []].flat().join('\n'),
        text,
        bytes,
        json: <T>() => JSON.parse(text) as T,
      });
    });
  });
}
