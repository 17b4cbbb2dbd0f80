/**
 * One resource of the cluster, watched: a list in pages, then changes, over one connection, for all who want to hear of it. It comes back by itself after
 * whatever ended it, and tells what was missed. Who joins later is told all that is there by a list, of which the others hear only what is new to them.
 * Objects are passed on and not kept (known-objects.ts).
 */
import type { IncomingMessage } from 'node:http';
import { objectBeyondLimits } from '../../../core/object/json-limits.ts';
import { formatKey, type GroupResource } from '../../../core/object/key.ts';
import { formatApiVersion, type KubeObject } from '../../../core/object/meta.ts';
import type { Clock } from '../../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';
import type { Logger } from '../../../core/runtime/logger.ts';
import type { Random } from '../../../core/runtime/random.ts';
import type { ClusterEvent, ServedResource, WatchEvents } from '../cluster.ts';
import type { ClusterApiClient } from './api-client.ts';
import { urlPathOf } from './discovery.ts';
import { JsonLines } from './json-lines.ts';
import { KnownObjects, knownKeyIn } from './known-objects.ts';
import { type ListPage, ListPages } from './list-pages.ts';

export interface WatchPorts {
  readonly client: Pick<ClusterApiClient, 'json' | 'stream'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  resourceOf(resource: GroupResource): Promise<ServedResource>;
  /** Objects without these labels are not asked for: `app=till`. */
  readonly labelSelector?: string | undefined;
  /** Of the objects nothing else is asked for: a definition is up to a megabyte, and its name is what counts. */
  readonly metadataOnly?: boolean;
}

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches; API servers that know nothing of it answer whole objects. */
export const metadataList = metadataAs('PartialObjectMetadataList');
const metadataOne = metadataAs('PartialObjectMetadata');

/** The server ends a watch after this, spread so that all do not end at once. */
const watchSecondsMin = 300;
/** Bookmarks come once a minute: a watch that hears nothing for longer hangs on a connection that is gone. */
const idleMs = 150_000;
const backoffMsMin = 500;
/** A resource that is not there, or must not be read, is asked for again at this pace. */
const backoffMsMax = 30_000;
/** A watch that has lived for this long works. One that ends sooner, again and again, costs the server more than it tells: what it asks for is paced as after failures. */
const steadyMs = 5_000;
/** What a server that asks to wait is obeyed for; one that says a day is asked all the same. */
const retryAfterMsMax = 300_000;

export class ResourceWatch {
  readonly #ports: WatchPorts;
  readonly #resource: GroupResource;
  readonly #listeners = new Set<KnownObjects>();
  /** Those whom the list was told that changes go on from. */
  #listening: ReadonlySet<KnownObjects> = new Set();
  readonly #pages: ListPages;
  #isStopped = false;
  #isBegun = false;
  /** Somebody has, since the last list began. */
  #hasJoined = false;
  /** What was followed, if anything, was broken off for that. Over with the list: what breaks later does so by itself. */
  #isInterrupted = false;
  /** Of attempts without a steady watch in between. */
  #failures = 0;
  #trouble: BanyanError | undefined;
  /**
   * From which on to go on; undefined: by a list. So it is after every refusal but of too much at once: what must not be watched is seen by its lists, and a server that
   * was away may have been put back to a time before this version, and would tell nothing until it gets there again.
   */
  #version: string | undefined;
  /** The last that was heard of, as a number: of one resource they grow (https://kep.k8s.io/5504). */
  #newest = 0;
  /** A connection broke, and who answers next may be a server that was put back meanwhile: one that was away for a moment may be so without having refused anything. */
  #isUnsure = false;
  #response: IncomingMessage | undefined;

  constructor(ports: WatchPorts, resource: GroupResource) {
    this.#ports = ports;
    this.#resource = resource;
    this.#pages = new ListPages((asked) => ports.client.json(asked));
  }

  /** Hears of all that is there, and of what changes from then on. Returns the function that ends it for this one. */
  join(events: WatchEvents): () => void {
    const listener = new KnownObjects(this.#resource, events);
    this.#listeners.add(listener);
    if (this.#trouble) events.trouble?.(this.#trouble);
    if (this.#isBegun) {
      // What is followed now goes on from a list that it has not heard.
      this.#hasJoined = true;
      this.#isInterrupted = true;
      this.#response?.destroy();
    } else {
      this.#isBegun = true;
      void this.#run();
    }
    return () => this.#listeners.delete(listener);
  }

  /** Why it is not watched now. */
  get trouble(): BanyanError | undefined {
    return this.#trouble;
  }

  /** Somebody hears of it. */
  get isUsed(): boolean {
    return this.#listeners.size > 0;
  }

  stop(): void {
    this.#isStopped = true;
    this.#response?.destroy();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const served = await this.#ports.resourceOf(this.#resource);
        if (this.#hasJoined || (this.#isUnsure && (await this.#hasGoneBack(served)))) this.#version = undefined;
        this.#isUnsure = false;
        this.#version ??= await this.#list(served);
        if (this.#isStopped) return;
        if (this.#hasJoined) continue;
        await this.#follow(served, this.#version);
        if (this.#failures > 0 && !this.#hasJoined) await this.#pause();
      } catch (error) {
        if (this.#isStopped) return;
        const isForJoining = this.#isInterrupted;
        this.#isInterrupted = false;
        if (!isForJoining) await this.#backOff(error);
      }
    }
  }

  #reportTrouble(error: BanyanError | undefined): void {
    if (!error && !this.#trouble) return;
    this.#trouble = error;
    for (const { events } of [...this.#listeners]) events.trouble?.(error);
  }

  /** Expired (410) is no failure where it happens once: the list is simply asked for anew. */
  async #backOff(error: unknown): Promise<void> {
    const refusal = error instanceof BanyanError ? error : undefined;
    const isExpired = refusal?.code === 'Expired' || refusal?.code === 'Gone';
    if (!refusal) this.#isUnsure = true;
    else if (refusal.code !== 'TooManyRequests') this.#version = undefined;
    if (!isExpired) {
      const { group, resource } = this.#resource;
      this.#ports.logger.warn(
        { group, resource, error: describeError(error) },
        'a resource of the cluster is not watched now',
      );
      if (refusal) this.#reportTrouble(refusal);
    }
    this.#failures++;
    if (isExpired && this.#failures === 1) return;
    await this.#pause(refusal?.details.retryAfterSeconds);
  }

  async #pause(retryAfterSeconds = 0): Promise<void> {
    const { clock, random } = this.#ports;
    const ceiling = Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(10, this.#failures - 1));
    const askedMs = Math.min(retryAfterMsMax, retryAfterSeconds * 1_000);
    await new Promise<void>((resolve) => {
      clock.after(askedMs + random.fraction() * ceiling, resolve);
    });
  }

  // ------------------------------------------------------------------------------------------------------ the list

  /** Tells what is new, other or gone since the last one; the version of the list. */
  async #list(served: ServedResource): Promise<string> {
    this.#listening = new Set(this.#listeners);
    this.#hasJoined = this.#isInterrupted = false;
    for (const listener of this.#listening) listener.listing(this.#newest);
    const found = new Set<string>();
    const version = served.versions[0]!;
    let resourceVersion = '';
    const asked = { path: urlPathOf(served, version), query: this.#selected(), ...this.#accepting(metadataList) };
    for await (const page of this.#pages.of(asked)) {
      if (this.#isStopped) return '';
      for (const item of page.items ?? []) {
        // Items of a list have neither.
        const object = named(item, served);
        found.add(formatKey(knownKeyIn(this.#resource, object)));
        this.#tell('ADDED', object);
      }
      resourceVersion = page.metadata?.resourceVersion ?? '';
    }
    this.#newest = numberOf(resourceVersion);
    for (const listener of this.#present) listener.listed(found, this.#newest, served);
    return resourceVersion;
  }

  /** Of a version that it has not reached it tells nothing, and that it has not, only a list says: of one object, for its version. */
  async #hasGoneBack(served: ServedResource): Promise<boolean> {
    const path = urlPathOf(served, served.versions[0]!);
    const query = { ...this.#selected(), limit: '1' };
    const page = (await this.#ports.client.json({ path, query, ...this.#accepting(metadataList) })) as ListPage;
    return numberOf(page.metadata?.resourceVersion) < this.#newest;
  }

  // --------------------------------------------------------------------------------------------------- the changes

  /** Until the server ends it. Throws what ended it otherwise. */
  async #follow(served: ServedResource, from: string): Promise<void> {
    const seconds = Math.round(watchSecondsMin * (1 + this.#ports.random.fraction()));
    const query = {
      ...this.#selected(),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: from,
      timeoutSeconds: String(seconds),
    };
    const path = urlPathOf(served, served.versions[0]!);
    const response = await this.#ports.client.stream({ path, query, ...this.#accepting(metadataOne) }, idleMs);
    this.#response = response;
    if (this.#isStopped || this.#hasJoined) response.destroy();
    this.#reportTrouble(undefined);
    const sinceMs = this.#ports.clock.monotonicMs();
    response.setTimeout(idleMs, () => response.destroy(new Error(`nothing heard for ${idleMs / 1_000} s`)));
    try {
      await this.#tellLines(response, served);
      // Ended at once, which is nothing to go on with without a pause.
      this.#failures++;
    } finally {
      if (this.#ports.clock.monotonicMs() - sinceMs >= steadyMs) this.#failures = 0;
    }
  }

  async #tellLines(response: IncomingMessage, served: ServedResource): Promise<void> {
    const lines = new JsonLines();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      for (const line of lines.push(chunk)) {
        if (this.#isStopped) return;
        const { type, object } = line as WatchLine;
        if (type === 'ERROR') throw errorOf(object);
        this.#version = object.metadata.resourceVersion ?? this.#version;
        this.#newest = numberOf(this.#version);
        // What is its metadata alone comes under the name of that.
        if (type !== 'BOOKMARK') this.#tell(type, this.#ports.metadataOnly ? named(object, served) : object);
      }
    }
  }

  #accepting(accept: string): { accept?: string } {
    return this.#ports.metadataOnly ? { accept } : {};
  }

  #selected(): { labelSelector?: string } {
    const { labelSelector } = this.#ports;
    return labelSelector === undefined ? {} : { labelSelector };
  }

  #tell(type: ClusterEvent['type'], object: KubeObject): void {
    // Of one that has gone nobody reads more than its name.
    const wrong = type === 'DELETED' ? undefined : objectBeyondLimits(object);
    // Nobody could take it in, and the others of the resource would be waited for in vain.
    if (wrong !== undefined) {
      const name = formatKey(knownKeyIn(this.#resource, object));
      this.#ports.logger.warn({ object: name, reason: wrong }, 'what the cluster tells of an object is passed over');
      return;
    }
    for (const listener of this.#present) listener.tell(type, object);
  }

  /** Of those who listen, who has not left; one may leave while another is told. */
  get #present(): KnownObjects[] {
    return [...this.#listening].filter((listener) => this.#listeners.has(listener));
  }
}

/** NaN, which is before and behind nothing: a server behind the cluster's own says none, or says it in other words. */
function numberOf(resourceVersion = ''): number {
  return resourceVersion === '' ? Number.NaN : Number(resourceVersion);
}

function metadataAs(kind: string): string {
  return `application/json;as=${kind};g=meta.k8s.io;v=v1,application/json`;
}

function named(object: KubeObject, { group, versions, kind }: ServedResource): KubeObject {
  return { ...object, apiVersion: formatApiVersion(group, versions[0]!), kind };
}

interface WatchLine {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

function errorOf(status: KubeObject): BanyanError {
  const message = typeof status.message === 'string' ? status.message : 'the watch ended with an error';
  return new BanyanError(status.code === 410 ? 'Expired' : 'Unavailable', message);
}
