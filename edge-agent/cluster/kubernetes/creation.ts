/**
 * Server-side apply that creates an object and never changes an existing one. The agent sends the object with a resourceVersion that no object has. If the
 * object exists, an API server treats the version as a condition, and answers 409 before anything has changed. If the object does not exist, the server
 * ignores the version. The check and the write are one step, so nobody can write in between.
 *
 * Aggregated API servers (https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/) may work in another way. So the agent
 * tries each kind before it uses this method, except Namespaces and definitions, which the API server itself serves. The try is a dry run with an object that
 * was just applied. It changes nothing in the cluster, whatever the answer is. The agent uses this method for the kind only after the expected answer.
 */
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { bare } from '../mark.ts';
import type { ApiAnswer } from './api-client.ts';

/** The highest revision that etcd can count to. A server that counts separately for each object may reach a small number, but never this one. */
const versionOfNone = '9223372036854775807';
/** The number of objects of a kind from which a try is worth its request. */
const worthTrying = 8;

type CreationPath = 'unknown' | 'asking' | 'kept' | 'broken';

/** Applies the object as the agent's manager, with these query parameters. `once`: the client does not repeat a request that may have been carried out. */
export type SendApply = (
  object: KubeObject,
  query: Readonly<Record<string, string>>,
  once?: boolean,
) => Promise<ApiAnswer>;

export class Creation {
  readonly #send: SendApply;
  /** Keyed by apiVersion and kind. There are no more keys than kinds that the cluster serves. */
  readonly #kinds = new Map<string, { asked: number; found: CreationPath }>();

  constructor(send: SendApply) {
    this.#send = send;
  }

  /** Whether a try has shown that this works for the kind. */
  isKnown(object: KubeObject): boolean {
    const kind = this.#kindOf(object);
    kind.asked++;
    return kind.found === 'kept';
  }

  /**
   * Creates the object. Undefined: the object was not created, because an object of this name exists, or because the server refuses it. In this case nothing
   * has changed.
   */
  async create(object: KubeObject): Promise<KubeObject | undefined> {
    try {
      // The server may carry out the first request without an answer. A second request would find the new object, and treat it as somebody else's object. So
      // the client must not repeat the request.
      const { status, body } = await this.#send(ofNoVersion(object), { force: 'false' }, true);
      if (status === 201) return body as KubeObject;
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
    // The answer came from another server than the server of the try, and that server has merged the object into somebody's object. The second apply gives up
    // the merged fields.
    this.#kindOf(object).found = 'broken';
    await this.#send(bare(object), { force: 'true' });
    return undefined;
  }

  /** Called with an object that exists. If there are enough objects of the kind, the agent uses the object for the try. */
  async applied(object: KubeObject): Promise<void> {
    const kind = this.#kindOf(object);
    if (kind.found !== 'unknown' || kind.asked < worthTrying) return;
    kind.found = 'asking';
    kind.found = await this.#try(object);
    kind.asked = 0;
  }

  /** Called when the next answer may come from another server, or from a server of another version. */
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
 * Whether the object was surely not created: the server has refused it with a final error. If there was no answer, or the answer was too large for this
 * agent, the object may have been created.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof BanyanError && error.retry === 'never' && error.code !== 'TooLarge';
}

function ofNoVersion(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: versionOfNone } };
}
