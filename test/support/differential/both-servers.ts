/** A real API server and the rules, asked the same: the same objects are stored at both, and answers are compared whole. */
import { storedKey } from '../../../core/apiserver/space.ts';
import { canonicalBytes } from '../../../core/object/canonical.ts';
import type { ObjectKey } from '../../../core/object/key.ts';
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
/** How often an object is read again for one question. Controllers of a cluster change an object a few times, and then it is finished. */
const refreshesMax = 5;

export class BothServers {
  readonly #api: ApiCaller;
  readonly #own = new HandlerBench();
  /** The objects that both have, under their URLs. */
  readonly stored = new Map<string, KubeObject>();
  /** The URL of each object in the form in which it is stored, by its key, and the version of it that the own space has. */
  readonly #homes = new Map<string, { readonly place: string; version: string | undefined }>();

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
      this.stored.set(place, live);
      if (!live.apiVersion.endsWith(kindOf(live).storageVersion)) continue;
      const key = storedKeyOf(live);
      if (this.#own.space.storage.get(key)) continue;
      this.#homes.set(JSON.stringify(key), { place, version: live.metadata.resourceVersion });
      this.#put(key, live);
    }
  }

  /** The bytes are those of the API server, because a Job, for example, can't be created with what a cluster has filled in. Undefined: there is no object. */
  #put(key: ObjectKey, live: KubeObject | undefined): void {
    const { resourceVersion: _, ...metadata } = live?.metadata ?? {};
    this.#own.space.storage.write((writer) =>
      live ? writer.put(key, canonicalBytes({ ...live, metadata })) : writer.remove(key),
    );
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

  /**
   * Undefined: both answer the same, or the answer of the API server is about something else than the object. The controllers of a cluster may have changed the
   * object meanwhile. So a difference counts only if it is there for the object as it is now.
   */
  async differenceOf(question: Question): Promise<Difference | undefined> {
    let found = await this.#compare(question);
    for (let left = refreshesMax; found && left > 0 && (await this.#refresh(question)); left--) {
      found = await this.#compare(question);
    }
    return found;
  }

  /** Gives the own space the object as the API server has it now. False: the own space has it already. */
  async #refresh({ method, url }: Question): Promise<boolean> {
    const [path = ''] = url.split('?');
    const isAsked = (place: string) => (method === 'POST' ? place.startsWith(`${path}/`) : place === path);
    const [, object] = [...this.stored].find(([place]) => isAsked(place)) ?? [];
    if (!object) return false;
    const key = storedKeyOf(object);
    const home = this.#homes.get(JSON.stringify(key))!;
    const { status, text } = await this.#api.call('GET', home.place);
    const now = status === 200 ? (JSON.parse(text) as KubeObject) : undefined;
    const version = now?.metadata.resourceVersion;
    if (version === home.version) return false;
    home.version = version;
    this.#put(key, now);
    return true;
  }

  async #compare(question: Question): Promise<Difference | undefined> {
    const [real, own] = await Promise.all([askReal(this.#api, question), askOwn(this.#own, question)]);
    const isSame =
      real === undefined ||
      isAboutOthers(question, real) ||
      real.join('\n') === own.join('\n') ||
      isAccepted(question, own, real);
    return isSame ? undefined : { question, real, own };
  }
}

function storedKeyOf(object: KubeObject): ObjectKey {
  const { group, resource } = kindOf(object);
  const { namespace = '', name = '' } = object.metadata;
  return storedKey(kindOf(object), { group, resource, namespace, name });
}

/**
 * Refusals by what else a cluster has, and conflicts with its controllers. A conflict of an apply is about the managers of fields. All causes of a refusal without
 * causes are those that only a cluster has (accepted-differences.ts).
 */
function isAboutOthers({ type }: Question, [answered = '', ...lines]: Answer): boolean {
  const isWithoutCauses = answered === '422 Invalid' && lines.every((line) => /^(of|warning) /.test(line));
  return answered.startsWith('403') || (answered.startsWith('409') && !type.includes('apply')) || isWithoutCauses;
}
