/** A client for the API of a running tree. It uses the contexts of the kubeconfig. For the commands that explain a tree. */

import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';
import * as z from 'zod';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError, describeError, type ErrorCode, errorTable } from '../../core/runtime/errors.ts';
import { checkSchema, problemText } from '../../core/runtime/schema-problems.ts';
import { didYouMean } from './arguments.ts';

/** The fields of the kubeconfig that this client reads. `up` writes the file, with the certificates and one user for all nodes. */
const kubeconfigSchema = z.object({
  clusters: z
    .array(
      z.object({ name: z.string(), cluster: z.object({ server: z.url(), 'certificate-authority-data': z.string() }) }),
    )
    .min(1),
  users: z
    .array(
      z.object({
        name: z.string(),
        user: z.object({ 'client-certificate-data': z.string(), 'client-key-data': z.string() }),
      }),
    )
    .min(1),
  contexts: z.array(z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) })),
  'current-context': z.string().optional(),
});

export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type WriteAnswer =
  | { readonly object: KubeObject }
  | {
      readonly refused: {
        readonly code: ErrorCode;
        readonly message: string;
        /** `field`: such as `spec.locationSelectors[0].matchLabels`. Empty: the cause is not about a field. */
        readonly causes: readonly { readonly field: string; readonly message: string }[];
      };
    };

type Kubeconfig = z.infer<typeof kubeconfigSchema>;

/** Longest wait for an answer. Every node is on this machine or one hop away, so a node that needs longer is not running. */
const timeoutMs = 5_000;

export class NodeApiClient {
  readonly #config: Kubeconfig;
  readonly #agent: Agent;

  constructor(kubeconfigFile: string) {
    this.#config = readKubeconfig(kubeconfigFile);
    const user = this.#config.users[0]?.user;
    const decode = (data: string | undefined) => Buffer.from(data ?? '', 'base64').toString();
    this.#agent = new Agent({
      ca: decode(this.#config.clusters[0]?.cluster['certificate-authority-data']),
      cert: decode(user?.['client-certificate-data']),
      key: decode(user?.['client-key-data']),
      keepAlive: true,
    });
  }

  contexts(): string[] {
    return this.#config.contexts.map(({ name }) => name);
  }

  currentContext(): string {
    return this.#config['current-context'] ?? '';
  }

  /** The certificate authority of a context's node, as PEM. */
  authority(context: string): string {
    return Buffer.from(this.#cluster(context)['certificate-authority-data'], 'base64').toString();
  }

  /** Returns the object. Undefined: the answer was 404. */
  async get(context: string, path: string): Promise<KubeObject | undefined> {
    const { status, body } = await this.#ask(context, path);
    if (status === 404) return undefined;
    return this.#parsed(context, path, status, body);
  }

  async list(context: string, path: string): Promise<KubeObject[]> {
    const { status, body } = await this.#ask(context, path);
    return (this.#parsed(context, path, status, body) as { items?: KubeObject[] }).items ?? [];
  }

  /** Server-side apply; returns the object as stored. */
  async apply(context: string, path: string, object: KubeObject): Promise<KubeObject> {
    const { status, body } = await this.#ask(context, `${path}?fieldManager=banyan-cli&force=true`, {
      method: 'PATCH',
      contentType: 'application/apply-patch+yaml',
      body: JSON.stringify(object),
    });
    return this.#parsed(context, path, status, body);
  }

  /** Deletes the object only in the form that was read. Throws Conflict if the object has changed meanwhile. A missing object is no error. */
  async remove(context: string, path: string, { metadata }: KubeObject): Promise<void> {
    const { uid, resourceVersion } = metadata;
    const { status, body } = await this.#ask(context, path, {
      method: 'DELETE',
      contentType: 'application/json',
      body: JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } }),
    });
    if (status === 404) return;
    if (status === 409) {
      throw new BanyanError('Conflict', `${context}: ${path} has changed just now, do it again: ${messageOf(body)}`);
    }
    this.#parsed(context, path, status, body);
  }

  /** Gets a URL of the node itself; with `sent`, posts this value to it. Throws an error with the server's message. */
  async ask<T>(context: string, path: string, withinMs = timeoutMs, sent?: object): Promise<T> {
    const send = sent && { method: 'POST', contentType: 'application/json', body: JSON.stringify(sent) };
    const { status, body } = await this.#ask(context, path, send, withinMs);
    if (status === 200) return JSON.parse(body) as T;
    throw new BanyanError(codeOf(status), messageOf(body));
  }

  /** Creates, replaces, patches (by a merge patch) or deletes an object, or tries to with `?dryRun=All`. Returns the object, or why the node refused. */
  async write(context: string, method: WriteMethod, path: string, sent: object): Promise<WriteAnswer> {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const { status, body } = await this.#ask(context, path, { method, contentType, body: JSON.stringify(sent) });
    if (status === 200 || status === 201) return { object: JSON.parse(body) as KubeObject };
    const { details } = statusOf(body);
    const causes = (details?.causes ?? []).map(({ field = '', message = '' }) => ({ field, message }));
    return { refused: { code: codeOf(status), message: messageOf(body), causes } };
  }

  close(): void {
    this.#agent.destroy();
  }

  #parsed(context: string, path: string, status: number, body: string): KubeObject {
    if (status === 200 || status === 201) return JSON.parse(body) as KubeObject;
    throw new BanyanError(codeOf(status), `${context}: ${path}: ${messageOf(body)}`);
  }

  #ask(
    context: string,
    path: string,
    send?: { method: string; contentType: string; body: string },
    withinMs = timeoutMs,
  ): Promise<{ status: number; body: string }> {
    const headers: Record<string, string | number> = { accept: 'application/json' };
    if (send) {
      headers['content-type'] = send.contentType;
      // Without this header, Node does not send the length of a DELETE's body.
      headers['content-length'] = Buffer.byteLength(send.body);
    }
    const options = { agent: this.#agent, method: send?.method ?? 'GET', headers };
    return new Promise((resolve, reject) => {
      const outgoing = request(`${this.#cluster(context).server}${path}`, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
        response.on('error', reject);
      });
      // This limit is for the whole request. A time-out of the socket would begin again at every step of the connection.
      const timer = setTimeout(() => outgoing.destroy(new Error(`no answer within ${withinMs / 1000} s`)), withinMs);
      outgoing.on('close', () => clearTimeout(timer));
      outgoing.on('error', (error) => {
        // The server closed the kept connection at the moment when this client used it again, before the server received the request
        // (https://nodejs.org/api/http.html#requestreusedsocket). So the client sends the request again.
        if (outgoing.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET') {
          resolve(this.#ask(context, path, send, withinMs));
          return;
        }
        reject(
          new BanyanError(
            'Unavailable',
            `${context} does not answer (${error.message}); is the tree running?`,
            {},
            { cause: error },
          ),
        );
      });
      outgoing.end(send?.body);
    });
  }

  #cluster(context: string): Kubeconfig['clusters'][number]['cluster'] {
    const found = this.#config.contexts.find(({ name }) => name === context);
    const cluster = this.#config.clusters.find(({ name }) => name === found?.context.cluster);
    if (!cluster) {
      throw new BanyanError(
        'NotFound',
        `the kubeconfig has no context "${context}": ${didYouMean(context, this.contexts(), 'for a list: kubectl config get-contexts -o name')}`,
      );
    }
    return cluster.cluster;
  }
}

function codeOf(status: number): ErrorCode {
  const found = Object.entries(errorTable).find(([, row]) => row.http === status);
  return (found?.[0] ?? 'Internal') as ErrorCode;
}

interface ShownError {
  message?: string;
  details?: { causes?: { field?: string; message?: string }[] };
}

/** The Kubernetes Status in the body of an answer. Empty if the body is no JSON. */
function statusOf(body: string): ShownError {
  try {
    return JSON.parse(body) as ShownError;
  } catch {
    return {};
  }
}

function messageOf(body: string): string {
  return statusOf(body).message ?? body.slice(0, 300);
}

function readKubeconfig(file: string): Kubeconfig {
  const checked = checkSchema(kubeconfigSchema, parsedFile(file));
  if ('value' in checked) return checked.value;
  const remedy = 'name the data directory of a tree with --data, or its kubeconfig with --kubeconfig';
  const problem = problemText(checked.problems[0]!, 'the file');
  throw new BanyanError('BadRequest', `${file} is no kubeconfig of a tree: ${problem}; ${remedy}`);
}

function parsedFile(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new BanyanError(
        'BadRequest',
        `${file} can't be read as a kubeconfig: ${describeError(error)}`,
        {},
        { cause: error },
      );
    }
    throw new BanyanError(
      'NotFound',
      `no kubeconfig at ${file}: start a tree with: ${cliCommand('up', '-f', 'TOPOLOGY')}; or name its directory with --data`,
      {},
      { cause: error },
    );
  }
}
