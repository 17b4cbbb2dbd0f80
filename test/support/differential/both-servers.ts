/** A real API server and the rules, asked the same: the same objects are stored at both, and answers are compared whole. */
import { storedKey } from '../../../core/apiserver/space.ts';
import { canonicalBytes } from '../../../core/object/canonical.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { HandlerBench } from '../../unit/core/apiserver/http/handler-bench.ts';
import type { ApiCaller } from '../api-caller.ts';
import { isAccepted } from './accepted-differences.ts';
import { baseObjects, kindOf, urlOf } from './answers.ts';
import { type Answer, askOwn, askReal } from './asked.ts';
import { type Question, questions } from './questions.ts';

export interface Difference {
  readonly question: Question;
  readonly real: Answer;
  readonly own: Answer;
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
    const [real, own] = await Promise.all([askReal(this.#api, question), askOwn(this.#own, question)]);
    const isSame =
      real === undefined ||
      isAboutOthers(question, real) ||
      real.join('\n') === own.join('\n') ||
      isAccepted(question, own, real);
    return isSame ? undefined : { question, real, own };
  }
}

/** Refusals by what else a cluster has, and conflicts with its controllers. A conflict of an apply is about the managers of fields. */
function isAboutOthers({ type }: Question, [answered = '']: Answer): boolean {
  return answered.startsWith('403') || (answered.startsWith('409') && !type.includes('apply'));
}
