/** Watches: the events of a storage, from one revision on, as a stream. Each event has the form that the client asked for. */
import { jsonText } from '../../object/json.ts';
import type { ObjectKey } from '../../object/key.ts';
import { formatApiVersion } from '../../object/meta.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { encodeEvent, encodeProtobuf } from '../protobuf/encode.ts';
import { storedResource } from '../space.ts';
import { compareKeys } from '../storage/event-log.ts';
import type { StorageEvent, StoredObject } from '../storage.ts';
import { columnDefinitions, partialMetadata, table } from '../table/table.ts';
import type { EventLines } from './event-lines.ts';
import { Effort, type ListRequest, mustParse, placeIn, selectsStored } from './list-request.ts';
import { answeredObject, bytesOf, rowOf } from './lists.ts';
import { aheadBytesMax, type WatchSink } from './outgoing.ts';
import { kubernetesStatusOf } from './status.ts';

export interface WatchParameters {
  /** Empty, or decimal digits. */
  readonly resourceVersion: string;
  /** `by revision`: the client did not say it. A watch without a revision, or from revision 0, then begins with the present objects. */
  readonly initialEvents: 'all' | 'none' | 'by revision';
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
}

export interface WatchRequestPorts {
  readonly clock: Clock;
  readonly lines: EventLines;
}

const bookmarkEveryMs = 60_000;

export class WatchRequest {
  readonly #listing: ListRequest;
  readonly #options: WatchParameters;
  readonly #sink: WatchSink;
  readonly #clock: Clock;
  readonly #lines: EventLines;
  readonly #timers: Timer[] = [];
  #unsubscribe: (() => void) | undefined;
  /** True: the watch begins with the present objects, and has not sent all of them. */
  #isInitial = false;
  /**
   * The last of the present objects that was sent or was not selected. The watch reads an object when it is the next one. So until then, the watch does not send
   * events about the object.
   */
  #sentTo: ObjectKey | undefined;
  readonly #effort = new Effort();
  readonly #isRead: boolean;
  #revision = 0;
  #columnsSent = false;
  #ended = false;

  constructor(listing: ListRequest, options: WatchParameters, sink: WatchSink, { clock, lines }: WatchRequestPorts) {
    this.#listing = listing;
    this.#options = options;
    this.#sink = sink;
    this.#clock = clock;
    this.#lines = lines;
    this.#isRead = !listing.selection.isEmpty || mustParse(listing);
  }

  start(): void {
    const { storage, name } = this.#listing.space;
    const { resourceVersion, initialEvents, timeoutMs } = this.#options;
    const fromNow = resourceVersion === '' || resourceVersion === '0' || initialEvents === 'all';
    const since = fromNow ? storage.revision() : Number(resourceVersion);
    const missed = fromNow ? [] : storage.eventsSince(since);
    this.#revision = Math.max(since, fromNow ? storage.revision() : 0);
    if (missed === 'expired') {
      this.#expired(since);
      return;
    }
    // The client lists again, and reads that there is no such space.
    const removed = () => this.#fail(new BanyanError('Expired', `the space ${JSON.stringify(name)} was removed`));
    this.#unsubscribe = storage.subscribe((events) => this.#onEvents(events), removed);
    this.#isInitial = fromNow && initialEvents !== 'none';
    if (this.#isInitial) this.#sendInitial();
    // The log keeps these events, so copies of them get the lines.
    this.#onEvents(missed.map((event) => ({ ...event })));
    if (this.#ended) return;
    this.#timers.push(this.#clock.after(timeoutMs, () => this.end()));
    if (this.#options.bookmarks) this.#scheduleBookmark();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe?.();
    for (const timer of this.#timers) timer.stop();
    this.#sink.end();
  }

  /** Sends present objects, until the client must read the sent bytes, or others must work. */
  #sendInitial(): void {
    const { space, kind } = this.#listing;
    const from = this.#sentTo ? { after: this.#sentTo } : {};
    let isCut = false;
    space.storage.visit(storedResource(kind), { ...placeIn(this.#listing), ...from }, (stored) => {
      this.#sentTo = stored.key;
      isCut = !this.#sendExisting(stored);
      return !isCut && !this.#ended;
    });
    if (this.#ended) return;
    if (isCut) this.#continueLater();
    else this.#endInitial();
  }

  #continueLater(): void {
    const act = () => {
      if (!this.#ended) this.#sendInitial();
    };
    if (this.#sink.queuedBytes() > 0) this.#sink.onTaken(act);
    else this.#sink.later(act);
  }

  /** Sends an object as ADDED. Returns false if the client must read the sent bytes, or others must work, before the next object. */
  #sendExisting(stored: StoredObject): boolean {
    this.#orFail(() => {
      if (this.#selects(stored)) this.#send('ADDED', stored);
    });
    const isSpent = this.#effort.spend(this.#isRead ? stored.body.length : 0);
    return !isSpent && this.#sink.queuedBytes() <= aheadBytesMax;
  }

  #endInitial(): void {
    this.#isInitial = false;
    const { initialEvents, bookmarks } = this.#options;
    if (initialEvents === 'all' && bookmarks) this.#bookmark({ 'k8s.io/initial-events-end': 'true' });
  }

  #onEvents(events: readonly StorageEvent[]): void {
    for (const event of events) {
      if (this.#ended) return;
      this.#revision = Math.max(this.#revision, event.object.revision);
      if (this.#concerns(event) && !this.#isUnsent(event.object.key)) this.#orFail(() => this.#sendEvent(event));
    }
  }

  #isUnsent(key: ObjectKey): boolean {
    return this.#isInitial && (!this.#sentTo || compareKeys(key, this.#sentTo) > 0);
  }

  #concerns({ object: { key } }: StorageEvent): boolean {
    const { kind, namespace } = this.#listing;
    const { group, resource } = storedResource(kind);
    return key.resource === resource && key.group === group && (namespace === '' || key.namespace === namespace);
  }

  /**
   * Sends one event. If the change brings the object into the selection, sends ADDED. If the change takes the object out of the selection, sends DELETED
   * with the last selected state, as the Kubernetes API server does.
   */
  #sendEvent(event: StorageEvent): void {
    const { type, object, before } = event;
    if (this.#listing.selection.isEmpty) {
      this.#sendShared(event, type, object);
      return;
    }
    const isNow = type !== 'DELETED' && this.#selects(object);
    const wasSelected = type === 'DELETED' ? this.#selects(object) : before !== undefined && this.#selects(before);
    if (isNow) this.#sendShared(event, wasSelected ? 'MODIFIED' : 'ADDED', object);
    else if (wasSelected)
      this.#sendShared(event, 'DELETED', before ? { ...before, revision: object.revision } : object);
  }

  #selects(stored: StoredObject): boolean {
    return selectsStored(this.#listing, stored);
  }

  /** If the client can't get an object in the version that it watches, the watch ends with the error, as in a Kubernetes API server. */
  #orFail(send: () => void): void {
    try {
      send();
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.#fail(error);
    }
  }

  #send(type: string, stored: StoredObject): void {
    this.#write(this.#lineOf(type, stored));
  }

  /** Sends an event of the storage. `type` and `stored` depend on nothing but the event and the states that the watch selects. */
  #sendShared(event: StorageEvent, type: string, stored: StoredObject): void {
    const { form, kind, version } = this.#listing;
    // A row has the age of its object, and the first one has the columns.
    if (form.as === 'Table') return this.#send(type, stored);
    const format = form.protobuf ? 'protobuf' : 'json';
    const shownAs = `${type} ${version} ${format} ${form.as} ${form.as === 'object' ? '' : form.version}`;
    this.#write(this.#lines.of(event, { kind, shownAs }, () => this.#lineOf(type, stored)));
  }

  #lineOf(type: string, stored: StoredObject): Buffer {
    if (this.#listing.form.protobuf) return this.#madeLine(type, answeredObject(this.#listing, stored));
    return jsonLine(type, this.#json(stored));
  }

  #json(stored: StoredObject): Buffer {
    const { form, kind, version } = this.#listing;
    if (form.as === 'Table') {
      const row = rowOf(this.#listing, form, stored, this.#clock.wallMs());
      const definitions = this.#columnsSent ? [] : columnDefinitions(kind, version);
      this.#columnsSent = true;
      return Buffer.from(
        jsonText(table(definitions, [row], { resourceVersion: String(stored.revision) }, form.version)),
      );
    }
    return bytesOf(this.#listing, stored);
  }

  #bookmark(annotations?: Record<string, string>): void {
    const metadata = {
      resourceVersion: String(this.#revision),
      ...(annotations ? { annotations } : {}),
    };
    this.#write(this.#madeLine('BOOKMARK', this.#marked(metadata)));
  }

  /** An object of the form that the client asked for, with nothing but metadata. */
  #marked(metadata: { readonly resourceVersion: string }): object {
    const { kind, version, form } = this.#listing;
    const object = { kind: kind.kind, apiVersion: formatApiVersion(kind.group, version), metadata };
    if (form.as === 'object' || form.as === 'discovery') return object;
    const partial = partialMetadata(object, form.version);
    if (form.as === 'PartialObjectMetadata') return partial;
    return table([], [{ cells: [], object: partial }], { resourceVersion: metadata.resourceVersion }, form.version);
  }

  #scheduleBookmark(): void {
    const timer = this.#clock.after(bookmarkEveryMs, () => {
      // A bookmark tells the client that it has received everything up to a revision. So there is no bookmark while initial objects are unsent.
      if (!this.#isInitial) this.#bookmark();
      this.#timers.splice(this.#timers.indexOf(timer), 1);
      if (!this.#ended) this.#scheduleBookmark();
    });
    this.#timers.push(timer);
  }

  #expired(since: number): void {
    const message = `too old resource version: ${since} (${this.#listing.space.storage.revision()})`;
    this.#fail(new BanyanError('Expired', message));
  }

  #fail(error: BanyanError): void {
    this.#write(this.#madeLine('ERROR', kubernetesStatusOf(error).body));
    this.end();
  }

  #write(line: Buffer): void {
    if (this.#ended) return;
    this.#sink.write(line);
    if (this.#sink.hasRoom()) return;
    this.#sink.break();
    this.end();
  }

  #madeLine(type: string, object: object): Buffer {
    if (this.#listing.form.protobuf) return encodeEvent(type, encodeProtobuf(object)!);
    return jsonLine(type, Buffer.from(jsonText(object)));
  }
}

function jsonLine(type: string, object: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, Buffer.from('}\n')]);
}
