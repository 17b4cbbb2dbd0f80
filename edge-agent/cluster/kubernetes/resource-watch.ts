/**
 * Watches one resource of the cluster for all listeners, over one connection: first a list in pages, then the changes. After any interruption, the watch
 * starts again by itself, and sends the missed changes. When another listener joins, the watch lists once more: the new listener gets all existing objects,
 * and the earlier listeners get only the changes that the list shows. The watch passes objects on, and does not keep them (known-objects.ts).
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
  /** The watch requests only objects with these labels: `app=till`. */
  readonly labelSelector?: string | undefined;
  /** True: the watch requests only the metadata of objects. For example, a definition has up to a megabyte, and only its name matters. */
  readonly metadataOnly?: boolean;
}

/** See https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches. API servers without this feature answer with whole objects. */
export const metadataList = metadataAs('PartialObjectMetadataList');
const metadataOne = metadataAs('PartialObjectMetadata');

/** The server ends a watch after this time and a random part, so that not all watches end at once. */
const watchSecondsMin = 300;
/** The server sends a bookmark once a minute. If a watch receives nothing for longer than this, its connection is dead. */
const idleMs = 150_000;
const backoffMsMin = 500;
/** Longest pause. A resource that does not exist, or that the agent is not allowed to read, is tried again after at most this time. */
const backoffMsMax = 30_000;
/** A watch that lasts this long works. A watch that ends earlier, again and again, costs the server too much: the agent then pauses as after failures. */
const steadyMs = 5_000;
/** Longest pause that a server may ask for. If a server asks for a day, it gets the next request after this time. */
const retryAfterMsMax = 300_000;

export class ResourceWatch {
  readonly #ports: WatchPorts;
  readonly #resource: GroupResource;
  readonly #listeners = new Set<KnownObjects>();
  /** The listeners that got the list after which the watch follows the changes. */
  #listening: ReadonlySet<KnownObjects> = new Set();
  readonly #pages: ListPages;
  #isStopped = false;
  #isBegun = false;
  /** True: a listener has joined since the last list began. */
  #hasJoined = false;
  /** True: the running watch was ended because a listener joined. The next list resets this value, because further interruptions have other reasons. */
  #isInterrupted = false;
  /** The number of failed attempts since the last steady watch. */
  #failures = 0;
  #trouble: BanyanError | undefined;
  /**
   * The version from which the watch continues. Undefined: the watch begins with a list. After every refusal except "too many requests", the watch begins
   * with a list, for two reasons. If the agent is not allowed to watch a resource, lists still show its objects. And a server that was unreachable may have
   * been restored to a time before this version: it would send nothing until it reaches this version again.
   */
  #version: string | undefined;
  /** The newest received version as a number. The versions of one resource grow (https://kep.k8s.io/5504). */
  #newest = 0;
  /** True: a connection broke. The server that answers next may have been restored meanwhile, even in a short interruption without a refusal. */
  #isUnsure = false;
  #response: IncomingMessage | undefined;

  constructor(ports: WatchPorts, resource: GroupResource) {
    this.#ports = ports;
    this.#resource = resource;
    this.#pages = new ListPages((asked) => ports.client.json(asked));
  }

  /** Adds a listener. It gets all existing objects, and all changes after that. Returns the function that removes the listener. */
  join(events: WatchEvents): () => void {
    const listener = new KnownObjects(this.#resource, events);
    this.#listeners.add(listener);
    if (this.#trouble) events.trouble?.(this.#trouble);
    if (this.#isBegun) {
      // The running watch continues from a list that the new listener has not received.
      this.#hasJoined = true;
      this.#isInterrupted = true;
      this.#response?.destroy();
    } else {
      this.#isBegun = true;
      void this.#run();
    }
    return () => this.#listeners.delete(listener);
  }

  /** Why the resource is not watched now. Undefined: it is watched. */
  get trouble(): BanyanError | undefined {
    return this.#trouble;
  }

  /** Whether the watch has a listener. */
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

  /** Waits before the next attempt. A single Expired (410) is no failure: the next attempt lists again at once. */
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

  /** Lists the resource. Sends the differences from the last list: new, changed and deleted objects. Returns the version of the list. */
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
        // The items of a list have neither apiVersion nor kind.
        const object = named(item, served);
        found.add(formatKey(knownKeyIn(this.#resource, object)));
        this.#deliver('ADDED', object);
      }
      resourceVersion = page.metadata?.resourceVersion ?? '';
    }
    this.#newest = numberOf(resourceVersion);
    for (const listener of this.#present) listener.listed(found, this.#newest, served);
    return resourceVersion;
  }

  /**
   * Whether the server has not reached the newest received version. A watch from that version would send nothing, and only the version of a list shows the
   * problem. So this method lists one object.
   */
  async #hasGoneBack(served: ServedResource): Promise<boolean> {
    const path = urlPathOf(served, served.versions[0]!);
    const query = { ...this.#selected(), limit: '1' };
    const page = (await this.#ports.client.json({ path, query, ...this.#accepting(metadataList) })) as ListPage;
    return numberOf(page.metadata?.resourceVersion) < this.#newest;
  }

  // --------------------------------------------------------------------------------------------------- the changes

  /** Follows the changes until the server ends the watch. Throws if the watch ends for another reason. */
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
    response.setTimeout(idleMs, () => response.destroy(new Error(`nothing received for ${idleMs / 1_000} s`)));
    try {
      await this.#deliverLines(response, served);
      // A watch that ends quickly must not begin again without a pause.
      this.#failures++;
    } finally {
      if (this.#ports.clock.monotonicMs() - sinceMs >= steadyMs) this.#failures = 0;
    }
  }

  async #deliverLines(response: IncomingMessage, served: ServedResource): Promise<void> {
    const lines = new JsonLines();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      for (const line of lines.push(chunk)) {
        if (this.#isStopped) return;
        const { type, object } = line as WatchLine;
        if (type === 'ERROR') throw errorOf(object);
        this.#version = object.metadata.resourceVersion ?? this.#version;
        this.#newest = numberOf(this.#version);
        // With metadata only, the server gives the object the kind of that form. The object gets its real kind again.
        if (type !== 'BOOKMARK') this.#deliver(type, this.#ports.metadataOnly ? named(object, served) : object);
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

  #deliver(type: ClusterEvent['type'], object: KubeObject): void {
    // The agent uses only the name of a deleted object.
    const wrong = type === 'DELETED' ? undefined : objectBeyondLimits(object);
    // No part of the agent could use such an object. The watch skips it. Otherwise the list of the resource's other objects would never be complete.
    if (wrong !== undefined) {
      const name = formatKey(knownKeyIn(this.#resource, object));
      this.#ports.logger.warn({ object: name, reason: wrong }, 'an object of the cluster is skipped');
      return;
    }
    for (const listener of this.#present) listener.deliver(type, object);
  }

  /** The listeners that have not left. A listener may leave while another listener gets an event. */
  get #present(): KnownObjects[] {
    return [...this.#listening].filter((listener) => this.#listeners.has(listener));
  }
}

/**
 * The version as a number. NaN, which is neither smaller nor larger than any number, if an aggregated API server returns no version, or a version that is no
 * number.
 */
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
