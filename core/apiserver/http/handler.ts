/** Turns one request to a space into one answer. api-server.ts serves watches, because a watch needs the connection. */

import { formatGroupResource, type ObjectKey } from '../../object/key.ts';
import { formatApiVersion } from '../../object/meta.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError } from '../../runtime/errors.ts';
import {
  aggregated,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  kubernetesVersion,
} from '../discovery/discovery.ts';
import { turnMsMax } from '../lifecycle/key-queue.ts';
import { jsonPieces } from '../openapi/json-pieces.ts';
import { jsonOfV2, openapiV2 } from '../openapi/openapi-v2.ts';
import { encodeOpenapiV2, openapiV2Asked, openapiV2ContentType } from '../openapi/openapi-v2-protobuf.ts';
import { openapiDocument, openapiIndex } from '../openapi/openapi-v3.ts';
import { hasProtobuf } from '../protobuf/encode.ts';
import { selectionOf } from '../selection/selection.ts';
import { type Kind, type Space, storedKey } from '../space.ts';
import { notFound, notServed } from '../status-errors.ts';
import { isNamespace } from '../verbs/kind-strategy.ts';
import { isPart } from '../verbs/object-parts.ts';
import { write } from './large-writes.ts';
import { checkListOptions, exactRevision } from './list-options.ts';
import { Effort, type ListRequest } from './list-request.ts';
import { includeObjectOf, type ListHead, listPieces, oneBytes, scaleBytes } from './lists.ts';
import {
  checkAcceptsObject,
  checkAcceptsStream,
  encodingOf,
  type InProtobuf,
  negotiate,
  preferredEncoding,
} from './negotiate.ts';
import { actedResource, type PodAct, podActOf } from './pod-acts.ts';
import { type ApiRequest, type ApiResponse, header, integerOf, jsonResponse, resourceVersionOf } from './requests.ts';
import { type Route, routeOf } from './route.ts';
import type { WatchParameters } from './watches.ts';
import * as writes from './writes.ts';
import { tooLongForYaml, yamlLengthMax } from './yaml-answer.ts';

export type ResourceRoute = Route & { type: 'resource' };

/** Subresources that lead to a program at a cluster. A space has none, and says first whether the object exists. */
const connects: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);
/** If a list or get request asks for a revision that this node has not reached yet, the request waits this long. */
const revisionWaitMs = 3_000;
const watchTimeoutMs = 30 * 60_000;
/** Longer than any client keeps a watch, and less than the maximum of a timer. */
const watchTimeoutMsMax = 24 * 3_600_000;

export type Handled =
  | { readonly answer: ApiResponse }
  /** A list. The caller must begin to read it at once. `head` is known after the first piece with bytes. */
  | { readonly list: Generator<Buffer, void>; readonly head: ListHead }
  | { readonly watch: { readonly listing: ListRequest; readonly options: WatchParameters } };

export class SpaceHandler {
  readonly space: Space;
  readonly #prefix: string;
  readonly #clock: Clock;

  constructor(space: Space, prefix: string, clock: Clock) {
    this.space = space;
    this.#prefix = prefix;
    this.#clock = clock;
  }

  async handle(request: ApiRequest): Promise<Handled> {
    const route = routeOf(request.path);
    if (route.type === 'openapi-v2') return { answer: await this.#openapiV2(request) };
    if (route.type === 'openapi-v3-document')
      return { answer: await this.#openapiV3(route.group, route.version, request) };
    if (route.type !== 'resource') return { answer: this.#document(route, request) };
    const act = podActOf(route);
    const kind = this.#kindOf(act ? { ...route, of: actedResource } : route, request.method);
    const handled = act
      ? { answer: await this.#act(act, route, kind, request) }
      : await this.#resource(route, kind, request);
    if (!('answer' in handled) || handled.answer.encoding !== undefined) return handled;
    return { answer: { ...handled.answer, encoding: preferredEncoding(header(request, 'accept') ?? '') } };
  }

  #document(route: Route, request: ApiRequest): ApiResponse {
    if (route.type !== 'unknown') mustGet(request);
    const { kinds, storage } = this.space;
    const options = { readOnly: storage.readOnly };
    const type = (version: string) => ({
      'content-type': `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    });
    const found = (document: object | undefined, headers: Record<string, string> = {}) => {
      if (!document) throw notThere();
      return jsonResponse(200, document, headers);
    };
    const accept = header(request, 'accept');
    const legacy = (document: object | undefined): ApiResponse => {
      checkAcceptsObject(accept);
      return { ...found(document), encoding: preferredEncoding(accept ?? '') === 'yaml' ? 'yaml' : 'json' };
    };
    switch (route.type) {
      case 'version':
        return found(kubernetesVersion);
      case 'api':
      case 'apis': {
        const isCore = route.type === 'api';
        const form = negotiate(accept);
        if (form.as === 'discovery') return found(aggregated(kinds, isCore, form.version, options), type(form.version));
        return legacy(isCore ? apiVersions() : apiGroupList(kinds));
      }
      case 'group':
        return legacy(apiGroup(kinds, route.group));
      case 'group-version':
        return legacy(apiResourceList(kinds, route.group, route.version, options));
      case 'health':
        return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: Buffer.from('ok') };
      case 'openapi-v3':
        return found(openapiIndex(kinds, this.#prefix));
      default:
        throw notThere();
    }
  }

  /** Makes the document for each request. Requests for it are rare, and keeping one document per space would need a megabyte of memory each. */
  async #openapiV2(request: ApiRequest): Promise<ApiResponse> {
    mustGet(request);
    const { kinds } = this.space;
    const accept = header(request, 'accept') ?? '';
    const isProtobuf = accept.includes(openapiV2Asked) || accept.includes(openapiV2ContentType);
    if (!isProtobuf) return { status: 200, body: await this.#inTurns(jsonOfV2(openapiV2(kinds)), request) };
    const body = await this.#inTurns(encodeOpenapiV2(openapiV2(kinds)), request);
    return { status: 200, headers: { 'content-type': openapiV2ContentType }, body };
  }

  async #openapiV3(group: string, version: string, request: ApiRequest): Promise<ApiResponse> {
    mustGet(request);
    const document = openapiDocument(this.space.kinds, group, version);
    if (!document) throw notThere();
    return { status: 200, body: await this.#inTurns(jsonPieces(document, schemaDepth), request) };
  }

  /** Puts pieces together, and lets others work in between. */
  async #inTurns(pieces: Iterable<string | Uint8Array>, { turn }: ApiRequest): Promise<Buffer> {
    const all: Uint8Array[] = [];
    const effort = new Effort(piecesPerTurn);
    let untilMs = this.#clock.monotonicMs() + turnMsMax;
    for (const piece of pieces) {
      all.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
      // With a piece without bytes, a list lets others work.
      const isPause = piece.length === 0;
      if (!isPause && !effort.spend(piece.length) && this.#clock.monotonicMs() < untilMs) continue;
      await turn?.();
      untilMs = this.#clock.monotonicMs() + turnMsMax;
    }
    return Buffer.concat(all);
  }

  #kindOf({ of, version, name }: ResourceRoute, method: string): Kind {
    const kind = this.space.kinds.byResource(of);
    if (kind?.versions.includes(version)) return kind;
    // The words that client-go finds for the answer of a Kubernetes API server, which is no Status here.
    const asked = [method.toLowerCase(), formatGroupResource(of), ...(name === '' ? [] : [name])].join(' ');
    const message = `the server could not find the requested resource (${asked})`;
    throw new BanyanError('NotFound', message, { group: of.group, kind: of.resource, name });
  }

  async #act(act: PodAct, route: ResourceRoute, kind: Kind, request: ApiRequest): Promise<ApiResponse> {
    const { version, namespace, name, subresource } = route;
    if (this.space.storage.readOnly || request.method !== 'POST') throw notAllowedHere();
    const key: ObjectKey = { ...actedResource, namespace, name };
    return act(request, { space: this.space, kind, version, key, subresource }, this.#clock);
  }

  async #resource(route: ResourceRoute, kind: Kind, request: ApiRequest): Promise<Handled> {
    const { of, version, namespace, name, subresource } = route;
    const key: ObjectKey = { ...of, namespace, name };
    const target = { space: this.space, kind, version, key, subresource };
    if (this.space.storage.readOnly && request.method !== 'GET') {
      throw new BanyanError('MethodNotAllowed', `${this.space.name} is read-only: it shows objects of another space`);
    }
    if (connects.has(subresource) && !this.space.storage.get(storedKey(kind, key))) throw notFound(key);
    checkPlace(route, kind, request.method);
    if (subresource === 'finalize' && request.method !== 'PUT') throw notAllowedHere();
    if (request.method !== 'GET') {
      // A client that can't read the answer learns this before the write.
      negotiate(header(request, 'accept'), inProtobuf(kind, version));
      await kind.load?.();
    }
    switch (request.method) {
      case 'GET':
        return name === '' ? this.#list(route, kind, request) : { answer: await this.#get(route, kind, key, request) };
      case 'POST':
        if (name !== '') break;
        return { answer: await write('POST', request, target) };
      case 'PUT':
        if (name === '') break;
        return { answer: await write('PUT', request, target) };
      case 'PATCH':
        if (name === '') break;
        return { answer: await write('PATCH', request, target) };
      case 'DELETE':
        if (subresource !== '') throw notAllowedHere();
        if (name !== '') return { answer: await writes.remove(request, target) };
        return { answer: await writes.removeCollection(request, target, of, this.#selection(kind, version, request)) };
    }
    throw notAllowedHere();
  }

  async #get(route: ResourceRoute, kind: Kind, key: ObjectKey, request: ApiRequest): Promise<ApiResponse> {
    if (route.subresource === 'scale') {
      const scale = this.space.getScale(key);
      if (!scale) throw notFound(key);
      return { status: 200, body: scaleBytes(this.#listing(route, kind, request), scale) };
    }
    await this.#waitFor(request);
    const stored = this.space.storage.get(storedKey(kind, key));
    if (!stored) throw notFound(key);
    const listing = this.#listing(route, kind, request);
    return { status: 200, body: oneBytes(listing, stored), encoding: encodingOf(listing.form) };
  }

  async #list(route: ResourceRoute, kind: Kind, request: ApiRequest): Promise<Handled> {
    const { query } = request;
    const listing = this.#listing(route, kind, request);
    const isWatch = query.get('watch') === 'true' || query.get('watch') === '1';
    checkListOptions(query, isWatch);
    const [limit, seconds] = [integerOf(query, 'limit'), integerOf(query, 'timeoutSeconds')];
    if (!isWatch) {
      await this.#waitFor(request);
      const head = { contentType: 'application/json' };
      const at = { ...listing, revision: exactRevision(query) };
      const list = listPieces(at, limit, query.get('continue'), head);
      if (!listing.form.yaml) return { list, head };
      return { answer: { status: 200, body: await this.#inTurns(forYaml(list), request), encoding: 'yaml' } };
    }
    checkAcceptsStream(listing.form);
    const options: WatchParameters = {
      resourceVersion: resourceVersionOf(query),
      initialEvents: initialEventsOf(query.get('sendInitialEvents')),
      bookmarks: query.get('allowWatchBookmarks') === 'true',
      timeoutMs: seconds > 0 ? Math.min(seconds * 1000, watchTimeoutMsMax) : watchTimeoutMs,
    };
    return { watch: { listing, options } };
  }

  #listing(route: ResourceRoute, kind: Kind, request: ApiRequest): ListRequest {
    const selection = this.#selection(kind, route.version, request);
    return {
      space: this.space,
      kind,
      version: route.version,
      namespace: route.namespace,
      selection,
      form: negotiate(header(request, 'accept'), inProtobuf(kind, route.version)),
      includeObject: includeObjectOf(request.query.get('includeObject') || 'Metadata'),
      nowMs: this.#clock.wallMs(),
    };
  }

  #selection(kind: Kind, version: string, { query }: ApiRequest) {
    const read: typeof kind.selectableText = kind.selectableText?.bind(kind);
    return selectionOf(
      query.get('labelSelector'),
      query.get('fieldSelector'),
      kind.selectableFields(version),
      read && ((object, path) => read(object, path, version)),
    );
  }

  /**
   * Waits for the revision that the client asks for. A client may have received a newer revision from another node. Throws Timeout after `revisionWaitMs`.
   */
  async #waitFor({ query }: ApiRequest): Promise<void> {
    const asked = Number(resourceVersionOf(query));
    const { storage } = this.space;
    if (!(asked > storage.revision())) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        unsubscribe();
        timer.stop();
        resolve();
      };
      const unsubscribe = storage.subscribe(() => {
        if (storage.revision() >= asked) done();
      });
      const timer = this.#clock.after(revisionWaitMs, done);
    });
    if (storage.revision() >= asked) return;
    const message = `Timeout: Too large resource version: ${asked}, current: ${storage.revision()}`;
    const cause = { reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' };
    throw new BanyanError('Timeout', message, { causes: [cause], retryAfterSeconds: 1 });
  }
}

/** The pieces of a list that becomes YAML as a whole. Throws TooLarge if the list is too long for this. */
function* forYaml(pieces: Iterable<Buffer>): Iterable<Buffer> {
  let bytes = 0;
  for (const piece of pieces) {
    bytes += piece.length;
    if (bytes > yamlLengthMax) throw tooLongForYaml();
    yield piece;
  }
}

/** The schemas of a document are fields of `components.schemas`. */
const schemaDepth = 3;
/** Pieces between two turns: each one is made in 0.1 ms, unless its schema is long. */
const piecesPerTurn = 50;

function mustGet({ method }: ApiRequest): void {
  if (method !== 'GET') throw new BanyanError('MethodNotAllowed', `the server does not allow ${method} here`);
}

function notThere(): BanyanError {
  return new BanyanError('NotFound', 'the server could not find the requested resource');
}

/** The words of kube-apiserver. */
function notAllowedHere(): BanyanError {
  return new BanyanError('MethodNotAllowed', 'the server does not allow this method on the requested resource');
}

function initialEventsOf(asked: string | null): WatchParameters['initialEvents'] {
  if (asked === null) return 'by revision';
  return asked === 'true' || asked === '1' ? 'all' : 'none';
}

function inProtobuf({ group, kind }: Kind, version: string): InProtobuf {
  return hasProtobuf(formatApiVersion(group, version), kind) ? 'objects' : 'metadata';
}

/**
 * Throws if the kind does not have the URL of this route. The objects of a namespaced kind are in namespaces. Only a list of such a kind may cover all
 * namespaces.
 */
export function checkPlace({ of, namespace, name, subresource }: ResourceRoute, kind: Kind, method: string): void {
  const plural = formatGroupResource(of);
  if (!kind.namespaced && namespace !== '') {
    throw notServed(`${plural} are in no namespace, the URL says namespaces/${namespace}: leave that out`);
  }
  if (kind.namespaced && namespace === '' && (name !== '' || method !== 'GET')) {
    const why = `${plural} are in namespaces, the URL names none: use namespaces/NAMESPACE/${of.resource}`;
    if (name !== '') throw notServed(why);
    throw new BanyanError('MethodNotAllowed', `the server does not allow ${method} across namespaces: ${why}`);
  }
  const { status, scale, parts = [] } = kind.subresources;
  const isThere =
    subresource === '' ||
    (subresource === 'status' && status) ||
    (subresource === 'scale' && scale !== undefined) ||
    (isPart(subresource) && parts.includes(subresource)) ||
    (subresource === 'finalize' && isNamespace(kind));
  if (!isThere) throw notServed(`${plural} have no subresource ${JSON.stringify(subresource)}`);
}
