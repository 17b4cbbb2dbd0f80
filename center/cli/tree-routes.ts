/** The ways to the contexts of a tree: those of the kubeconfig, and those that lead through the node of the context in use. */
import type { RequestOptions } from 'node:https';
import { shownPath } from '../../core/identity/node-path.ts';
import { credentialsBy } from '../../core/kubeconfig/credentials.ts';
import {
  accessOfContext,
  type ClusterAccess,
  type Kubeconfig,
  readKubeconfig,
} from '../../core/kubeconfig/kubeconfig.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { didYouMean } from './arguments.ts';
import { contextOfPart, contextsThrough, type EntryNode, entryUrl, ownPath, pathOfContext } from './through-tree.ts';

export interface TreeKubeconfig {
  readonly config: Kubeconfig;
  /** For messages. */
  readonly file: string;
  /** The context in use. Empty: none. */
  readonly current: string;
}

/** The way to a context. */
export interface TreeRoute {
  /** The context of the kubeconfig whose user and authority are used. */
  readonly through: string;
  readonly url: string;
}

/** The node through which contexts are reached that the kubeconfig does not have. */
interface Entry extends TreeRoute, EntryNode {
  /** The name of the context in use, in the form of a tree: `space/center/retail`. */
  readonly current: string;
  readonly contexts: readonly string[];
}

export class TreeRoutes {
  readonly #tree: TreeKubeconfig;
  readonly #credentials = new Map<string, Promise<RequestOptions>>();
  #entry: Entry | undefined;

  /** A text is the name of one kubeconfig, with its current context. */
  constructor(tree: TreeKubeconfig | string) {
    this.#tree = typeof tree === 'string' ? ofFile(tree) : tree;
  }

  contexts(): string[] {
    const named = this.#tree.config.contexts.map(({ name }) => name);
    return [...new Set([...named, ...(this.#entry?.contexts ?? [])])];
  }

  currentContext(): string {
    return this.#entry?.current ?? this.#tree.current;
  }

  /** Undefined: the context in use names none. */
  currentNamespace(): string | undefined {
    const { config, current } = this.#tree;
    return config.contexts.find(({ name }) => name === current)?.context.namespace;
  }

  /** The way to the node of the context in use. Throws NotFound if there is no such context. */
  entryRoute(): TreeRoute {
    const { current } = this.#tree;
    const access = this.#access(current);
    if (!access) throw this.#unknown(current);
    return { through: current, url: entryUrl(access.server).base };
  }

  /** From now on, contexts that the kubeconfig does not have are reached through this node. `nodes`: its Node objects; none if it refuses to show them. */
  enter(nodes: readonly KubeObject[]): EntryNode {
    const route = this.entryRoute();
    // A user without the right to read Node objects still has the context in use. The node is then taken for the center, and its refusal is shown where it counts.
    const path = nodes.length > 0 ? ownPath(nodes) : '';
    const current = contextOfPart(entryUrl(this.#access(route.through)!.server).below, path);
    const contexts = [...new Set([`node/${shownPath(path)}`, ...contextsThrough(nodes, path)])];
    this.#entry = { ...route, path, current, contexts };
    return this.#entry;
  }

  /** Adds the contexts of Node objects that a node further down has: the node of the context in use learns of a new relay a little later than its parent. */
  addContextsOf(nodes: readonly KubeObject[]): void {
    if (!this.#entry) return;
    const contexts = [...new Set([...this.#entry.contexts, ...contextsThrough(nodes, this.#entry.path)])];
    this.#entry = { ...this.#entry, contexts };
  }

  /** Throws NotFound, with the most similar context. */
  routeOf(context: string): TreeRoute {
    const access = this.#access(context);
    if (access) return { through: context, url: access.server.href.replace(/\/$/, '') };
    const below = this.#entry && pathOfContext(context, this.#entry.path);
    if (this.#entry && below !== undefined) return { through: this.#entry.through, url: `${this.#entry.url}${below}` };
    throw this.#unknown(context);
  }

  /** The credentials of a context of the kubeconfig, which are read once. */
  credentials(through: string): Promise<RequestOptions> {
    const known = this.#credentials.get(through) ?? this.#signIn(through);
    this.#credentials.set(through, known);
    return known;
  }

  /** The certificate authority of a context's node, as PEM. Throws BadRequest if the kubeconfig has none. */
  async authority(context: string): Promise<string> {
    const { ca } = await this.credentials(this.routeOf(context).through);
    if (ca !== undefined) return String(ca);
    const field = 'certificate-authority-data';
    const remedy = `add ${field} of the authority of the tree to the cluster of this context`;
    throw new BanyanError('BadRequest', `${this.#tree.file}: ${context} has no ${field}: ${remedy}`);
  }

  #access(context: string): ClusterAccess | undefined {
    return accessOfContext(this.#tree.config, context, this.#tree.file);
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
