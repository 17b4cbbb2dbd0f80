/** The HTTP side of one space without connections, on virtual time. The input is a request, the output an answer or the events of a watch. */

import { builtinKinds } from '../../../../../core/apiserver/builtin/builtin-kinds.ts';
import { CrdController } from '../../../../../core/apiserver/crd/crd-controller.ts';
import { BodyThread } from '../../../../../core/apiserver/http/body-thread.ts';
import { EventLines } from '../../../../../core/apiserver/http/event-lines.ts';
import { SpaceHandler } from '../../../../../core/apiserver/http/handler.ts';
import { watchBytesMax } from '../../../../../core/apiserver/http/outgoing.ts';
import type { ApiRequest, WriteThread } from '../../../../../core/apiserver/http/requests.ts';
import { WatchRequest } from '../../../../../core/apiserver/http/watches.ts';
import { ClusterServices } from '../../../../../core/apiserver/kinds/cluster-services.ts';
import { fillingOf } from '../../../../../core/apiserver/kinds/fillings.ts';
import { ownKinds } from '../../../../../core/apiserver/kinds/kinds-of-space.ts';
import { objectChecks } from '../../../../../core/apiserver/kinds/object-checks.ts';
import { SpaceKinds } from '../../../../../core/apiserver/kinds/space-kinds.ts';
import { fieldManager } from '../../../../../core/apiserver/managed-fields/field-manager.ts';
import type { Space, SpaceType } from '../../../../../core/apiserver/space.ts';
import { EmbeddedStorage } from '../../../../../core/apiserver/storage/embedded.ts';
import type { SpaceStorage } from '../../../../../core/apiserver/storage.ts';
import { EmbeddedSpace } from '../../../../../core/apiserver/verbs/embedded-space.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { systemClock, VirtualClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { Turns } from '../lifecycle/turns.ts';

export interface Sent {
  readonly body?: object | Buffer;
  readonly headers?: Record<string, string>;
  /** Where writes with long bodies happen. Absent: in this thread. */
  readonly thread?: WriteThread;
  /** Gets the body in the form in which the server understood the body. */
  parsed?(body: unknown): void;
  /** Lets others work. */
  turn?(): Promise<void>;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  json<T>(): T;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject & { code?: number; reason?: string; message?: string };
}

interface BenchOptions {
  /** Two benches on one store are a node before and after a restart. */
  readonly store?: MemoryStore;
  /** Replaces the storage that the space reads. */
  readonly shown?: SpaceStorage;
  /** Of the space. Absent: Workload, but the space fills in defaults alone. */
  readonly type?: SpaceType;
}

export class HandlerBench {
  readonly clock = new VirtualClock();
  readonly lines = new EventLines();
  readonly space: Space;
  readonly #handler: SpaceHandler;
  readonly #turns = new Turns();

  constructor({ store = new MemoryStore(), shown, type }: BenchOptions = {}) {
    const logger = silentLogger;
    const storage = shown ?? new EmbeddedStorage({ store, name: 'retail', logger });
    const kinds = new SpaceKinds(storage, [...builtinKinds(), ...ownKinds(type ?? 'Workload')]);
    this.space = new EmbeddedSpace({
      name: 'retail',
      storage,
      kinds,
      clock: this.clock,
      random: new SeededRandom(1),
      fields: fieldManager,
      admissions: [],
      checks: objectChecks(
        { name: 'retail', type: type ?? 'Workload', path: '', ...servicesOf(type, storage) },
        kinds,
        storage,
      ),
      ...(type ? fillingOf(type) : {}),
    });
    if (!storage.readOnly) {
      new CrdController({ space: this.space, clock: this.clock, logger, schedule: this.#turns.schedule });
      for (const name of ['shop', 'bank']) {
        const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
        if (!this.space.get(this.space.keyOf(namespace))) this.space.create(namespace);
      }
    }
    this.#handler = new SpaceHandler(this.space, '/spaces/retail', this.clock);
  }

  /** Runs the CrdController until it has no work. */
  settle(): void {
    this.#turns.settle();
  }

  /** Throws the error that the connection would turn into a Status. */
  async call(method: string, url: string, sent: Sent = {}): Promise<Received> {
    const handled = await this.#handler.handle(requestOf(method, url, sent));
    if ('watch' in handled) throw new Error(`${url} is a watch`);
    const {
      status,
      body,
      headers = {},
    } = 'answer' in handled ? handled.answer : { status: 200, body: Buffer.concat([...handled.list]) };
    return { status, headers, json: <T>() => JSON.parse(body.toString()) as T };
  }

  async get<T>(url: string, accept?: string): Promise<T> {
    return (await this.call('GET', url, accept === undefined ? {} : { headers: { accept } })).json<T>();
  }

  /** The pieces of a list. */
  async pieces(url: string): Promise<Generator<Buffer, void>> {
    const handled = await this.#handler.handle(requestOf('GET', url, {}));
    if (!('list' in handled)) throw new Error(`${url} is no list`);
    return handled.list;
  }

  /** `queued`: the bytes that the client has not read at the beginning. */
  async watch(url: string, accept?: string, queued = 0): Promise<WatchLog> {
    const request = requestOf('GET', url, accept === undefined ? {} : { headers: { accept } });
    const handled = await this.#handler.handle(request);
    if (!('watch' in handled)) throw new Error(`${url} is no watch`);
    const log = new WatchLog();
    log.queued = queued;
    new WatchRequest(handled.watch.listing, handled.watch.options, log, {
      clock: this.clock,
      lines: this.lines,
    }).start();
    return log;
  }
}

function servicesOf(type: SpaceType | undefined, storage: SpaceStorage) {
  if (type !== 'Cluster') return {};
  const services = new ClusterServices(storage);
  return { services: () => services.room() };
}

/** The client's end of a watch. */
export class WatchLog {
  ended = false;
  broken = false;
  /** Sets the number of bytes that the client has not read. */
  queued = 0;
  /** The last line, as it was written. */
  line: Buffer | undefined;
  readonly #events: WatchEvent[] = [];
  #taken: (() => void) | undefined;

  write(bytes: Buffer): void {
    if (this.ended) throw new Error('a watch wrote behind its end');
    this.line = bytes;
    const text = bytes.toString();
    if (!text.endsWith('\n')) throw new Error('an event is a line');
    this.#events.push(JSON.parse(text) as WatchEvent);
  }

  hasRoom(): boolean {
    return this.queued <= watchBytesMax;
  }

  break(): void {
    this.broken = true;
  }

  queuedBytes(): number {
    return this.queued;
  }

  onTaken(act: () => void): void {
    this.#taken = act;
  }

  later(act: () => void): void {
    this.#taken = act;
  }

  /** Lets the watch go on. The client reads everything, and leaves this number of later bytes unread. */
  drain(queued = 0): void {
    const taken = this.#taken;
    this.#taken = undefined;
    this.queued = queued;
    taken?.();
  }

  end(): void {
    this.ended = true;
  }

  /** Returns the events since the last call. */
  take(): WatchEvent[] {
    return this.#events.splice(0);
  }

  /** The same in short form: `ADDED a`. */
  received(): string[] {
    return this.take().map(({ type, object }) => `${type} ${object.metadata?.name ?? object.reason ?? ''}`.trim());
  }
}

const yaml = new BodyThread(systemClock);

function requestOf(method: string, url: string, { body, headers = {}, thread, parsed, turn }: Sent): ApiRequest {
  const { pathname, searchParams } = new URL(`https://node${url}`);
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  return {
    method,
    path: pathname,
    query: searchParams,
    headers,
    user: { name: 'jo', groups: ['system:masters'] },
    alsoMay: () => {},
    mustRead: () => {},
    body: () => Promise.resolve(bytes),
    readLongYaml: (text) => yaml.readYaml({ flow: 'a', bytes: text.length }, text, () => false),
    ...(thread ? { thread } : {}),
    ...(parsed ? { parsed } : {}),
    ...(turn ? { turn } : {}),
  };
}
