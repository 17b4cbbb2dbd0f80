/**
 * Server-side apply that makes an object and changes none. The object is sent with a resourceVersion that no object has: an API server takes that for a condition on
 * an object that is there, and answers 409 before anything has changed, and does not look at it where there is none. Both come in one step with the write, so
 * that nobody gets in between.
 *
 * Servers behind the cluster's own (https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/) may be made otherwise. So it is tried
 * for each kind before it is relied on, but for Namespaces and definitions, which the API server has itself: on an object that was just applied, as a dry run, where only the right answer changes anything here and no answer does there.
 */
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import { bare } from '../mark.ts';
import type { ApiAnswer } from './api-client.ts';

/** The last of the revisions that etcd counts to; unlike a small one, no server that counts for each object anew gets there. */
const versionOfNone = '9223372036854775807';
/** Fewer objects of a kind are not worth a request that only tries. */
const worthTrying = 8;

type CreationPath = 'unknown' | 'asking' | 'kept' | 'broken';

/** Applies the object as the agent's manager, with these query parameters. `once`: not again by itself when it may have been done. */
export type SendApply = (
  object: KubeObject,
  query: Readonly<Record<string, string>>,
  once?: boolean,
) => Promise<ApiAnswer>;

export class Creation {
  readonly #send: SendApply;
  /** By apiVersion and kind; no more than the cluster serves. */
  readonly #kinds = new Map<string, { asked: number; found: CreationPath }>();

  constructor(send: SendApply) {
    this.#send = send;
  }

  /** Of this kind it is known to work. */
  isKnown(object: KubeObject): boolean {
    const kind = this.#kindOf(object);
    kind.asked++;
    return kind.found === 'kept';
  }

  /** Undefined: not made, because there is one of that name, or because it is refused; nothing has changed. */
  async create(object: KubeObject): Promise<KubeObject | undefined> {
    try {
      // Done and not answered, a second time would find the object that the first has made, and take it for somebody else's.
      const { status, body } = await this.#send(ofNoVersion(object), { force: 'false' }, true);
      if (status === 201) return body as KubeObject;
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
    // Another server answers than the one that was tried: somebody's object was merged with this one, and gives it up again.
    this.#kindOf(object).found = 'broken';
    await this.#send(bare(object), { force: 'true' });
    return undefined;
  }

  /** The object is there: by it is found out whether its kind can be created so, where that is worth it. */
  async applied(object: KubeObject): Promise<void> {
    const kind = this.#kindOf(object);
    if (kind.found !== 'unknown' || kind.asked < worthTrying) return;
    kind.found = 'asking';
    kind.found = await this.#try(object);
    kind.asked = 0;
  }

  /** Who answers may be another, of another version. */
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
    const known = this.#kinds.get(name) ?? { asked: 0, found: 'unknown' as CreationPath };
    this.#kinds.set(name, known);
    return known;
  }
}

/** What is refused for good was not made. What was not answered may have been, and what was answered at greater length than this agent reads. */
function isRefusal(error: unknown): boolean {
  return error instanceof BanyanError && error.retry === 'never' && error.code !== 'TooLarge';
}

function ofNoVersion(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: versionOfNone } };
}
