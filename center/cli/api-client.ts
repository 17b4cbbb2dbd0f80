/** A client for the API of a running tree. It uses the contexts of a kubeconfig. For the commands that explain a tree. */

import type { OutgoingHttpHeaders } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { jsonText, parseJson } from '../../core/object/json.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, type ErrorCode, errorTable } from '../../core/runtime/errors.ts';
import { nodeObjects } from './object-paths.ts';
import type { EntryNode } from './through-tree.ts';
import { type TreeKubeconfig, type TreeRoute, TreeRoutes } from './tree-routes.ts';

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

/** Longest wait for an answer. Every node is on this machine or one hop away, so a node that needs longer is not running. */
const timeoutMs = 5_000;

export class NodeApiClient {
  readonly #routes: TreeRoutes;
  readonly #agent = new Agent({ keepAlive: true });

  /** A text is the name of one kubeconfig, with its current context. */
  constructor(tree: TreeKubeconfig | string) {
    this.#routes = new TreeRoutes(tree);
  }

  /**
   * From now on, contexts that the kubeconfig does not have are reached through the node of the context in use. Throws NotFound if the context is not of a node
   * of a tree.
   */
  async enter(): Promise<EntryNode> {
    const route = this.#routes.entryRoute();
    const { through, url } = route;
    const { status, body } = await this.#ask(through, nodeObjects, undefined, timeoutMs, route);
    if (status === 403) return this.#routes.enter([]);
    if (status !== 404) {
      const { items = [] } = this.#parsed(through, nodeObjects, status, body) as { items?: KubeObject[] };
      return this.#routes.enter(items);
    }
    const remedy = 'choose a context of a node with --context';
    throw new BanyanError('NotFound', `${through} (${url}) is no node of a tree: it has no Node objects; ${remedy}`);
  }

  /** Adds the contexts of these Node objects, which a node below the entry has. */
  addContextsOf(nodes: readonly KubeObject[]): void {
    this.#routes.addContextsOf(nodes);
  }

  contexts(): string[] {
    return this.#routes.contexts();
  }

  currentContext(): string {
    return this.#routes.currentContext();
  }

  currentNamespace(): string | undefined {
    return this.#routes.currentNamespace();
  }

  authority(context: string): Promise<string> {
    return this.#routes.authority(context);
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
      body: jsonText(object),
    });
    return this.#parsed(context, path, status, body);
  }

  /** Deletes the object only in the form that was read. Throws Conflict if the object has changed meanwhile. A missing object is no error. */
  async remove(context: string, path: string, { metadata }: KubeObject): Promise<void> {
    const { uid, resourceVersion } = metadata;
    const { status, body } = await this.#ask(context, path, {
      method: 'DELETE',
      contentType: 'application/json',
      body: jsonText({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } }),
    });
    if (status === 404) return;
    if (status === 409) {
      throw new BanyanError('Conflict', `${context}: ${path} has changed just now, do it again: ${messageOf(body)}`);
    }
    this.#parsed(context, path, status, body);
  }

  /** Gets a URL of the node itself; with `sent`, posts this value to it. Throws an error with the server's message. */
  async ask<T>(context: string, path: string, withinMs = timeoutMs, sent?: object): Promise<T> {
    const send = sent && { method: 'POST', contentType: 'application/json', body: jsonText(sent) };
    const { status, body } = await this.#ask(context, path, send, withinMs);
    if (status === 200) return parseJson(body) as T;
    throw new BanyanError(codeOf(status), messageOf(body));
  }

  /** Creates, replaces, patches (by a merge patch) or deletes an object, or tries to with `?dryRun=All`. Returns the object, or why the node refused. */
  async write(context: string, method: WriteMethod, path: string, sent: object): Promise<WriteAnswer> {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const { status, body } = await this.#ask(context, path, { method, contentType, body: jsonText(sent) });
    if (status === 200 || status === 201) return { object: parseJson(body) as KubeObject };
    const { details } = statusOf(body);
    const causes = (details?.causes ?? []).map(({ field = '', message = '' }) => ({ field, message }));
    return { refused: { code: codeOf(status), message: messageOf(body), causes } };
  }

  close(): void {
    this.#agent.destroy();
  }

  #parsed(context: string, path: string, status: number, body: string): KubeObject {
    if (status === 200 || status === 201) return parseJson(body) as KubeObject;
    throw new BanyanError(codeOf(status), `${context}: ${path}: ${messageOf(body)}`);
  }

  async #ask(
    context: string,
    path: string,
    send?: { method: string; contentType: string; body: string },
    withinMs = timeoutMs,
    route: TreeRoute = this.#routes.routeOf(context),
  ): Promise<{ status: number; body: string }> {
    const credentials = await this.#routes.credentials(route.through);
    const headers: Record<string, string | number> = { accept: 'application/json' };
    if (send) {
      headers['content-type'] = send.contentType;
      // Without this header, Node does not send the length of a DELETE's body.
      headers['content-length'] = Buffer.byteLength(send.body);
    }
    const options: RequestOptions = {
      agent: this.#agent,
      ...credentials,
      method: send?.method ?? 'GET',
      headers: { ...(credentials.headers as OutgoingHttpHeaders), ...headers },
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(`${route.url}${path}`, options, (response) => {
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
          resolve(this.#ask(context, path, send, withinMs, route));
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
    return parseJson(body) as ShownError;
  } catch {
    return {};
  }
}

function messageOf(body: string): string {
  return statusOf(body).message ?? body.slice(0, 300);
}
