/** A real API server and the rules, asked the same: the same objects are stored at both, and answers are compared whole. */
import { kubernetesStatusOf } from '../../../core/apiserver/http/status.ts';
import { warned } from '../../../core/apiserver/http/warnings.ts';
import { storedKey } from '../../../core/apiserver/space.ts';
import { canonicalBytes } from '../../../core/object/canonical.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { HandlerBench } from '../../unit/core/apiserver/http/handler-bench.ts';
import type { ApiCaller } from '../api-caller.ts';
import { isAccepted, masked, onlyReal } from './accepted-differences.ts';
import { baseObjects, kindOf, urlOf } from './answers.ts';
import { type Question, questions } from './questions.ts';

/** Status, reason, message or causes, warnings: each is a line, in the order of the answer. */
export type Answer = readonly string[];

export interface Difference {
  readonly question: Question;
  readonly real: Answer;
  readonly own: Answer;
}

interface Status {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: string; readonly field?: string; readonly message?: string }[];
  };
}

/** Questions at once. */
const lanes = 8;

export class BothServers {
  readonly #api: ApiCaller;
  readonly #own = new HandlerBench();
  /** The objects that both have, under their URLs. */
  readonly stored = new Map<string, KubeObject>();

  constructor(api: ApiCaller) {
    this.#api = api;
    this.#own.space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'valid' } });
  }

  /** Creates the valid objects at the API server, and puts them with its defaults into the own space. */
  async store(): Promise<void> {
    for (const object of baseObjects) {
      const url = urlOf(object);
      const place = `${url}/${object.metadata.name}`;
      await this.#api.call('POST', url, { body: object });
      const { status, text } = await this.#api.call('GET', place);
      if (status !== 200) continue;
      const live = JSON.parse(text) as KubeObject;
      const { group, resource } = kindOf(object);
      const { resourceVersion: _, ...metadata } = live.metadata;
      const { namespace = '', name = '' } = metadata;
      const { storageVersion } = kindOf(object);
      // The bytes are those of the API server, because a Job, for example, can't be created with what a cluster has filled in.
      const key = { group, resource, namespace, name };
      if (live.apiVersion.endsWith(storageVersion) && !this.#own.space.storage.get(storedKey(kindOf(object), key))) {
        const body = canonicalBytes({ ...live, metadata });
        this.#own.space.storage.write((writer) => writer.put(storedKey(kindOf(object), key), body));
      }
      this.stored.set(place, live);
    }
  }

  /** Asks both servers the first `count` questions of the seed. */
  async differences(seed: number, count: number): Promise<Difference[]> {
    const made = questions(seed, this.stored);
    const found: Difference[] = [];
    for (let i = 0; i < count; i += lanes) {
      const asked = Array.from({ length: lanes }, () => made.next().value);
      const answers = await Promise.all(asked.map((one) => this.differenceOf(one)));
      found.push(...answers.filter((one) => one !== undefined));
    }
    return found;
  }

  /** Undefined: both answer the same, or the answer of the API server is about something else than the object. */
  async differenceOf(question: Question): Promise<Difference | undefined> {
    const [real, own] = await Promise.all([this.#askReal(question), this.#askOwn(question)]);
    const isSame = real === undefined || real.join('\n') === own.join('\n') || isAccepted(question, own);
    return isSame ? undefined : { question, real, own };
  }

  async #askReal({ method, url, type, body }: Question): Promise<Answer | undefined> {
    try {
      const { status, text, warnings } = await this.#api.call(method, url, {
        body: unversioned(body),
        headers: { 'content-type': type },
      });
      if (status === 403 || status === 409) return undefined;
      return answerOf(status, status < 300 ? {} : (JSON.parse(text) as Status), warnings, true);
    } catch (error) {
      // Its own rule has failed, and it ends the request without an answer.
      if ((error as { code?: string }).code === 'ECONNRESET') return undefined;
      throw error;
    }
  }

  async #askOwn({ method, url, type, body }: Question): Promise<Answer> {
    try {
      const { status, headers } = await this.#own.call(method, url, {
        body: unversioned(body),
        headers: { 'content-type': type },
      });
      return answerOf(status, {}, [headers.warning ?? []].flat(), false);
    } catch (error) {
      const status = kubernetesStatusOf(error);
      return answerOf(status.http, status.body, [warned(status.warnings ?? []).warning ?? []].flat(), false);
    }
  }
}

/** Both servers have other versions of the object. */
function unversioned(body: Question['body']): object {
  if (typeof body.metadata !== 'object' || body.metadata === null) return body;
  const { resourceVersion: _, ...metadata } = body.metadata as Record<string, unknown>;
  return { ...body, metadata };
}

function answerOf(
  status: number,
  { reason = '', message = '', details }: Status,
  warnings: readonly string[],
  isReal: boolean,
): Answer {
  const causes = (details?.causes ?? [])
    .map((cause) => `${cause.reason} ${cause.field}: ${cause.message}`)
    .filter((cause) => !isReal || !onlyReal(cause.slice(cause.indexOf(' ') + 1)));
  const said = causes.length > 0 ? inOrderOfKeys(causes) : message === '' ? [] : [message];
  const shown = [...said.map(masked), ...warnings.map((text) => `warning ${text}`)];
  return [`${status} ${reason}`.trim(), ...shown];
}

/** Go visits the keys of a map in any order. So causes that follow each other and differ in the key alone have the order of their texts. */
function inOrderOfKeys(causes: readonly string[]): string[] {
  const field = (cause: string) => cause.replace(/^\S+ /, '').replace(/(\[[^\]]*\])?: .*$/s, '');
  const runs: string[][] = [];
  for (const cause of causes) {
    const run = runs.at(-1);
    if (run && field(run[0]!) === field(cause)) run.push(cause);
    else runs.push([cause]);
  }
  return runs.flatMap((run) => run.sort());
}
