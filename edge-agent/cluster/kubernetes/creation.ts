/**
 * Server-side apply that creates an object and changes none. The object is sent with a resourceVersion that no object has. If the object exists, an API
 * server takes the version as a condition and answers 409 before anything has changed. If the object does not exist, the server ignores the version. The
 * check and the write are one step, so nobody gets in between.
 *
 * Aggregated API servers (https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/) may work in another way. So the agent
 * tries each kind before it relies on this, except Namespaces and definitions, which the API server itself serves. The try is a dry run on an object that
 * was just applied. Only the right answer changes anything in the agent, and no answer changes anything in the cluster.
 */
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { bare } from '../mark.ts';
import type { ApiAnswer } from './api-client.ts';

/** The last revision that etcd can count to. No server that counts separately for each object reaches it, as it might reach a small number. */
const versionOfNone = '9223372036854775807';
/** For fewer objects of a kind, a request that only tries is not worth it. */
const worthTrying = 8;

type CreationPath = 'unknown' | 'asking' | 'kept' | 'broken';

/** Applies the object as the agent's manager, with these query parameters. `once`: does not repeat a request that may have been carried out. */
export type SendApply = (
  object: KubeObject,
  query: Readonly<Record<string, string>>,
  once?: boolean,
) => Promise<ApiAnswer>;

export class Creation {
  readonly #send: SendApply;
  /** By apiVersion and kind. No more than the cluster serves. */
  readonly #kinds = new Map<string, { asked: number; found: CreationPath }>();

  constructor(send: SendApply) {
    this.#send = send;
  }

  /** Whether this is known to work for the kind. */
  isKnown(object: KubeObject): boolean {
    const kind = this.#kindOf(object);
    kind.asked++;
    return kind.found === 'kept';
  }

  /** Undefined: the object was not created, because an object of that name exists, or because the server refuses it. Nothing has changed. */
  async create(object: KubeObject): Promise<KubeObject | undefined> {
    try {
      // The first request may be carried out without an answer. A second one would find the new object and take it for somebody else's.
      const { status, body } = await this.#send(ofNoVersion(object), { force: 'false' }, true);
      if (status === 201) return body as KubeObject;
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
    // The answer came from another server than the one that was tried. Somebody's object was merged with this one. The second apply gives the merged fields
    // up again.
    this.#kindOf(object).found = 'broken';
    await this.#send(bare(object), { force: 'true' });
    return undefined;
  }

  /** The object exists. The agent uses it to find out whether its kind can be created this way, if there are enough objects of the kind. */
  async applied(object: KubeObject): Promise<void> {
    const kind = this.#kindOf(object);
    if (kind.found !== 'unknown' || kind.asked < worthTrying) return;
    kind.found = 'asking';
    kind.found = await this.#try(object);
    kind.asked = 0;
  }

  /** Another server may answer next, or a server of another version. */
  forget(): void {
    this.#kinds.clear();
  }

  async #try(object: KubeObject): Promise<CreationPath> {
    try {
      await this.#send(ofNoVersion(object), { force: 'true', dryRun: 'All' });
      return 'broken';
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      if (error.retry !== 'never') return 'unknown';
      return error.code === 'Conflict' ? 'kept' : 'broken';
    }
  }

  #kindOf({ apiVersion, kind }: KubeObject) {
    const name = `${apiVersion} ${kind}`;
    const entry = this.#kinds.get(name) ?? { asked: 0, found: 'unknown' as CreationPath };
    this.#kinds.set(name, entry);
    return entry;
  }
}

/**
 * An object that was refused for good was not created. Without an answer, or with an answer that is too large for this agent, the object may have been
 * created.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof BanyanError && error.retry === 'never' && error.code !== 'TooLarge';
}

function ofNoVersion(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: versionOfNone } };
}
