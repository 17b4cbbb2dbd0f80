/** A client for the API of a running tree. It uses the contexts of a kubeconfig. For the commands that explain a tree. */

import type { OutgoingHttpHeaders } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { shownPath } from '../../core/identity/node-path.ts';
import { credentialsBy } from '../../core/kubeconfig/credentials.ts';
import {
  accessOfContext,
  type ClusterAccess,
  type Kubeconfig,
  readKubeconfig,
} from '../../core/kubeconfig/kubeconfig.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, type ErrorCode, errorTable } from '../../core/runtime/errors.ts';
import { didYouMean } from './arguments.ts';
import { contextOfPart, contextsThrough, type EntryNode, entryUrl, ownPath, pathOfContext } from './through-tree.ts';

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

export interface TreeKubeconfig {
  readonly config: Kubeconfig;
  /** For messages. */
  readonly file: string;
  /** The context in use. Empty: none. */
  readonly current: string;
}

/** The context of the kubeconfig through which all other contexts are reached. */
interface Entry extends Route, EntryNode {
  /** Such as `space/center/retail`. */
  readonly current: string;
  readonly contexts: readonly string[];
}

/** How a context is reached. */
interface Route {
  /** The context of the kubeconfig whose user and authority are used. */
  readonly through: string;
  readonly url: string;
}

export class NodeApiClient {
  readonly #tree: TreeKubeconfig;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #signedIn = new Map<string, Promise<RequestOptions>>();
  #entry: Entry | undefined;

  /** A text is the name of one kubeconfig, with its current context. */
  constructor(tree: TreeKubeconfig | string) {
    this.#tree = typeof tree === 'string' ? ofFile(tree) : tree;
  }

  /**
   * From now on, contexts that the kubeconfig does not have are reached through the node of the context in use. Throws NotFound if the context is not of a node
   * of a tree.
   */
  async enter(): Promise<EntryNode> {
    const { current: context } = this.#tree;
    const access = this.#access(context);
    if (!access) throw this.#unknown(context);
    const { base, below } = entryUrl(access.server);
    const route = { through: context, url: base };
    const path = '/apis/mesh.banyan.io/v1alpha1/nodes';
    const { status, body } = await this.#ask(context, path, undefined, timeoutMs, route);
    if (status === 404) {
      const remedy = 'choose a context of a node with --context';
      throw new BanyanError('NotFound', `${context} (${base}) is no node of a tree: it has no Node objects; ${remedy}`);
    }
    // A user without the right to read Node objects still has the context in use. The node is then taken for the center, and its refusal is shown where it counts.
    const nodes = status === 403 ? [] : (this.#parsed(context, path, status, body) as { items?: KubeObject[] }).items;
    const own = nodes?.length ? ownPath(nodes) : '';
    const contexts = [...new Set([`node/${shownPath(own)}`, ...contextsThrough(nodes ?? [], own)])];
    this.#entry = { ...route, path: own, current: contextOfPart(below, own), contexts };
    return this.#entry;
  }

  contexts(): string[] {
    const named = this.#tree.config.contexts.map(({ name }) => name);
    return [...new Set([...named, ...(this.#entry?.contexts ?? [])])];
  }

  currentContext(): string {
    return this.#entry?.current ?? this.#tree.current;
  }

  /** The namespace of the context in use. Undefined: the context names none. */
  currentNamespace(): string | undefined {
    const { config, current } = this.#tree;
    return config.contexts.find(({ name }) => name === current)?.context.namespace;
  }

  /** The certificate authority of a context's node, as PEM. Throws BadRequest if the kubeconfig has none. */
  async authority(context: string): Promise<string> {
    const { ca } = await this.#credentials(this.#route(context).through);
    if (ca !== undefined) return String(ca);
    const field = 'certificate-authority-data';
    const remedy = `add ${field} of the authority of the tree to the cluster of this context`;
    throw new BanyanError('BadRequest', `${this.#tree.file}: ${context} has no ${field}: ${remedy}`);
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
    throw new BanyanError(codeOf(status), `${context}: ${path}: ${status} ${messageOf(body)}`);
  }

  async #ask(
    context: string,
    path: string,
    send?: { method: string; contentType: string; body: string },
    withinMs = timeoutMs,
    route: Route = this.#route(context),
  ): Promise<{ status: number; body: string }> {
    const credentials = await this.#credentials(route.through);
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

  #route(context: string): Route {
    const access = this.#access(context);
    if (access) return { through: context, url: access.server.href.replace(/\/$/, '') };
    const below = this.#entry && pathOfContext(context, this.#entry.path);
    if (this.#entry && below !== undefined) return { through: this.#entry.through, url: `${this.#entry.url}${below}` };
    throw this.#unknown(context);
  }

  #access(context: string): ClusterAccess | undefined {
    return accessOfContext(this.#tree.config, context, this.#tree.file);
  }

  #credentials(context: string): Promise<RequestOptions> {
    const known = this.#signedIn.get(context);
    if (known) return known;
    const made = this.#signIn(context);
    this.#signedIn.set(context, made);
    return made;
  }

  async #signIn(context: string): Promise<RequestOptions> {
    const { config, file } = this.#tree;
    const access = this.#access(context)!;
    if (!access.signsInOtherwise && access.proxy === undefined) return credentialsBy(access, file);
    const { signIn } = await import('../../core/kubeconfig/sign-in.ts');
    return signIn(config, context, file)();
  }

  #unknown(context: string): BanyanError {
    const listing = 'for a list: kubectl config get-contexts -o name';
    const remedy = didYouMean(context, this.contexts(), listing);
    return new BanyanError('NotFound', `the kubeconfig has no context "${context}": ${remedy}`);
  }
}

function ofFile(file: string): TreeKubeconfig {
  const config = readKubeconfig(file);
  return { config, file, current: config['current-context'] };
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
