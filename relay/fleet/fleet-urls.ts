/**
 * The URLs `/fleet/SPACE/...` of a node: a read-only API of Kubernetes over the copies of a space's objects at all clusters below. SPACE is a space of this node,
 * or the source of a space above, as in `/spaces/SOURCE`.
 */
import type { FleetUrls } from '../../core/apiserver/http/api-server.ts';
import { checkInitialEvents, checkPlace, type ResourceRoute, SpaceHandler } from '../../core/apiserver/http/handler.ts';
import { type Form, negotiate } from '../../core/apiserver/http/negotiate.ts';
import {
  type ApiRequest,
  type ApiResponse,
  header,
  integerOf,
  resourceVersionOf,
  type StreamedResponse,
} from '../../core/apiserver/http/requests.ts';
import { whoIsAsking } from '../../core/apiserver/http/reviews.ts';
import { decodePart, routeOf } from '../../core/apiserver/http/route.ts';
import { warned } from '../../core/apiserver/http/warnings.ts';
import { fieldManager } from '../../core/apiserver/managed-fields/field-manager.ts';
import type { Kind } from '../../core/apiserver/space.ts';
import { notFound } from '../../core/apiserver/status-errors.ts';
import { ViewStorage } from '../../core/apiserver/storage/view.ts';
import { EmbeddedSpace } from '../../core/apiserver/verbs/embedded-space.ts';
import { checkPath, isAtOrBelow, objectName, pathShownAs, shownPath } from '../../core/identity/node-path.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { awayText } from './away.ts';
import { pathValue } from './copy.ts';
import { type Away, type FleetLine, type Item, stamped } from './fleet-lines.ts';
import { type AnswerForm, askedKindOf, type ListQuestion, type WatchQuestion } from './fleet-question.ts';
import type { Fleets } from './fleets.ts';
import { clusterOf, fleetColumns } from './item-form.ts';
import { listAnswer } from './list-answer.ts';
import { decodeToken } from './list-token.ts';
import { expired } from './positions.ts';
import { copySelection, pathsSelected } from './selection.ts';
import { PartSignal } from './signals.ts';
import { watchAnswer } from './watch-answer.ts';

/** Time that the node waits for a child relay that sends nothing: as long as a person waits. */
const patienceMs = 10_000;
/** Discovery goes on without the relays that do not answer within this time. */
const kindsPatienceMs = 2_000;
/** Paths in the message about a name that several clusters have, and one more copy, which says that there are more. */
const pathsShownMax = 5;
const watchTimeoutMs = 30 * 60_000;
/** Longer than any client keeps a watch, and less than the maximum of a timer. */
const watchTimeoutMsMax = 24 * 3_600_000;

export interface FleetUrlsPorts {
  /** The path of this node. */
  readonly path: string;
  readonly fleets: Fleets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The names of this node's own spaces with placements. */
  spaces(): Iterable<string>;
}

interface Asked {
  readonly source: string;
  readonly prefix: string;
  readonly request: ApiRequest;
  readonly signal: AbortSignal;
}

export function fleetUrls(ports: FleetUrlsPorts): FleetUrls {
  const handlers = new Map<string, SpaceHandler>();
  return {
    async answer(request, signal) {
      const asked = askedOf(ports, request, signal);
      const review = await whoIsAsking(asked.request);
      if (review) return review;
      if (request.method !== 'GET') throw readOnly(asked);
      const route = routeOf(asked.request.path);
      if (route.type === 'resource') return resource(ports, asked, route);
      await learnKinds(ports, asked);
      const handler = handlers.get(asked.source) ?? documentsOf(ports, asked);
      handlers.set(asked.source, handler);
      const handled = await handler.handle(asked.request);
      if ('answer' in handled) return handled.answer;
      throw new BanyanError('NotFound', 'the server could not find the requested resource');
    },
  };
}

// ------------------------------------------------------------------------------------------------------------ space

function askedOf(ports: FleetUrlsPorts, request: ApiRequest, signal: AbortSignal): Asked {
  const match = /^\/fleet\/([^/]+)/.exec(request.path);
  const name = decodePart(match?.[1] ?? '');
  const source = sourceOf(ports, name);
  const prefix = `/fleet/${name}`;
  return { source, prefix, request: { ...request, path: request.path.slice(match?.[0].length ?? 0) }, signal };
}

/** Throws NotFound if the name is neither a space of this node nor the source of a node above. */
function sourceOf({ path, spaces }: FleetUrlsPorts, name: string): string {
  const own = [...spaces()];
  if (own.includes(name)) return `${objectName(path)}.${name}`;
  const dot = name.lastIndexOf('.');
  const origin = pathShownAs(name.slice(0, Math.max(0, dot)).replaceAll('.', ':'));
  if (dot > 0 && origin === path && own.includes(name.slice(dot + 1))) return name;
  if (dot > 0 && origin !== path && isAtOrBelow(path, origin === '' ? path : origin)) return name;
  const spacesText = own.length === 0 ? 'none' : own.join(', ');
  const above = path === '' ? '' : '; a space of a node above has a name such as center.retail';
  throw new BanyanError(
    'NotFound',
    `fleet: there is no space ${JSON.stringify(name)} with placements here: the spaces are ${spacesText}${above}`,
  );
}

function readOnly({ source, prefix }: Asked): BanyanError {
  const dot = source.lastIndexOf('.');
  const context = `space/${shownPath(pathShownAs(source.slice(0, dot).replaceAll('.', ':')))}/${source.slice(dot + 1)}`;
  const message = `${prefix} is read-only: it shows the copies at the clusters; write to the space that they come from (context ${context})`;
  return new BanyanError('MethodNotAllowed', message);
}

/** Serves discovery and OpenAPI documents: those of a read-only space with these kinds. */
function documentsOf({ fleets, clock, random, log }: FleetUrlsPorts, { source, prefix }: Asked): SpaceHandler {
  const storage = new ViewStorage({ list: () => [], get: () => undefined }, clock, log);
  const kinds = {
    get generation() {
      return fleets.kinds(source).generation;
    },
    all: () => fleets.kinds(source).all(),
    byResource: (of: Pick<ObjectKey, 'group' | 'resource'>) => fleets.kinds(source).byResource(of),
    byKind: (group: string, version: string, kind: string) => fleets.kinds(source).byKind(group, version, kind),
  };
  const space = new EmbeddedSpace({
    name: prefix,
    storage,
    kinds,
    clock,
    random,
    fields: fieldManager,
    admissions: [],
  });
  return new SpaceHandler(space, prefix, clock);
}

function learnKinds({ fleets }: FleetUrlsPorts, { source, request, signal }: Asked): Promise<void> {
  return fleets.learnKinds({ type: 'kinds', source, patienceMs: kindsPatienceMs }, request.user, signal);
}

// --------------------------------------------------------------------------------------------------------- resources

async function resource(
  ports: FleetUrlsPorts,
  asked: Asked,
  route: ResourceRoute,
): Promise<ApiResponse | StreamedResponse> {
  const kind = await kindOf(ports, asked, route);
  checkPlace(route, kind, 'GET');
  if (route.subresource !== '' && route.subresource !== 'status') {
    const remedy = 'ask the cluster itself: /tree/PATH/cluster';
    throw new BanyanError('NotFound', `a fleet has no subresource ${JSON.stringify(route.subresource)}: ${remedy}`);
  }
  const { query, user } = asked.request;
  const which = whichOf(ports, asked, route, kind);
  copySelection({ type: 'watch', ...which });
  if (route.name !== '')
    return one(ports, asked, { type: 'list', ...which, name: route.name, limit: pathsShownMax + 1 }, kind);
  const isWatch = query.get('watch') === 'true' || query.get('watch') === '1';
  checkInitialEvents(query, isWatch);
  if (isWatch) return watch(ports, asked, which, kind);
  if (query.get('resourceVersionMatch') === 'Exact') throw expired('a fleet shows only its present state');
  resourceVersionOf(query);
  const token = query.get('continue');
  const { position, after } = token ? decodeToken(token) : {};
  const question: ListQuestion = {
    type: 'list',
    ...which,
    limit: Math.max(0, integerOf(query, 'limit')),
    ...(position === undefined ? {} : { position }),
    ...(after === undefined ? {} : { after }),
  };
  const away = ports.fleets.away(asked.source, which.at, which.paths);
  const lines = ports.fleets.answer(question, user, asked.signal);
  return listAnswer(lines, {
    question,
    listKind: kind.listKind,
    away,
    brokenOff: (place) => ports.fleets.brokenOff(place),
  });
}

async function kindOf(ports: FleetUrlsPorts, asked: Asked, { of, version }: ResourceRoute): Promise<Kind> {
  const known = () => ports.fleets.kinds(asked.source).byResource(of);
  if (!known()?.versions.includes(version)) await learnKinds(ports, asked);
  const kind = known();
  if (kind?.versions.includes(version)) return kind;
  throw new BanyanError('NotFound', 'the server could not find the requested resource');
}

type Which = Omit<WatchQuestion, 'type' | 'position'>;

function whichOf({ path }: FleetUrlsPorts, { source, request }: Asked, route: ResourceRoute, kind: Kind): Which {
  const { query } = request;
  const labelSelector = query.get('labelSelector') ?? '';
  const paths = pathsSelected(labelSelector);
  const at = atOf(path, query.get('at'));
  return {
    source,
    kind: askedKindOf(kind, route.version),
    namespace: route.namespace,
    labelSelector,
    fieldSelector: query.get('fieldSelector') ?? '',
    form: formOf(negotiate(header(request, 'accept')), query.get('includeObject')),
    patienceMs,
    ...(at === undefined ? {} : { at }),
    ...(paths === undefined ? {} : { paths }),
  };
}

function atOf(own: string, text: string | null): string | undefined {
  if (text === null || text === '') return undefined;
  const path = pathShownAs(text).replaceAll('.', ':');
  const flaw = path === '' ? undefined : checkPath(path);
  if (flaw)
    throw new BanyanError(
      'BadRequest',
      `at: Invalid value: ${JSON.stringify(text)}: ${flaw}; a path is such as eu:paris:store-17`,
    );
  if (isAtOrBelow(path, own) || path === own) return path === own ? undefined : path;
  throw new BanyanError(
    'NotFound',
    `at: ${JSON.stringify(text)} is not below ${shownPath(own)}: ask the center, or a node above both`,
  );
}

function formOf(form: Form, include: string | null): AnswerForm {
  const includeObject = include === 'None' || include === 'Object' ? include : 'Metadata';
  if (form.as === 'Table') return { as: 'Table', version: form.version, includeObject };
  const isMetadata = form.as === 'PartialObjectMetadata' || form.as === 'PartialObjectMetadataList';
  return isMetadata
    ? { as: 'PartialObjectMetadata', version: form.version, includeObject }
    : { as: 'object', version: 'v1', includeObject };
}

async function watch(ports: FleetUrlsPorts, asked: Asked, which: Which, kind: Kind): Promise<StreamedResponse> {
  const { clock, fleets } = ports;
  const { query, user } = asked.request;
  const seconds = integerOf(query, 'timeoutSeconds');
  const revision = resourceVersionOf(query);
  const sendInitialEvents = query.get('sendInitialEvents') === 'true';
  const position = revision === '' || revision === '0' || sendInitialEvents ? {} : { position: revision };
  const question: WatchQuestion = { type: 'watch', ...which, ...position };
  const part = new PartSignal(asked.signal);
  const timeoutMs = seconds > 0 ? Math.min(seconds * 1000, watchTimeoutMsMax) : watchTimeoutMs;
  const timer = clock.after(timeoutMs, () => part.end());
  const lines = endingWith(fleets.answer(question, user, part.signal), () => {
    timer.stop();
    part.end();
  });
  return watchAnswer(lines, {
    question,
    kindName: kind.kind,
    away: fleets.away(asked.source, which.at, which.paths),
    bookmarks: query.get('allowWatchBookmarks') === 'true',
    sendInitialEvents,
    clock,
  });
}

async function* endingWith(lines: AsyncIterable<FleetLine>, end: () => void): AsyncGenerator<FleetLine> {
  try {
    yield* lines;
  } finally {
    end();
  }
}

// ----------------------------------------------------------------------------------------------------------- by name

async function one(ports: FleetUrlsPorts, asked: Asked, question: ListQuestion, kind: Kind): Promise<ApiResponse> {
  const { group, resource: plural } = kind;
  const key = { group, resource: plural, namespace: question.namespace, name: question.name ?? '' };
  const items: Item[] = [];
  const aways: Away[] = [];
  for await (const line of ports.fleets.answer(question, asked.request.user, asked.signal)) note(line, items, aways);
  const [item, ...others] = items;
  if (item && others.length === 0) return oneAnswer(item, question, aways);
  if (item) throw ambiguous(key, items);
  if (question.at !== undefined && aways[0]) throw new BanyanError('Unavailable', awayText(aways[0]));
  const { message } = notFound(key);
  const missing = aways.length === 0 ? '' : `; not all places answered: ${aways.map(awayText).join('; ')}`;
  throw new BanyanError('NotFound', `${message}${missing}`, notFound(key).details);
}

function note(line: FleetLine, items: Item[], aways: Away[]): void {
  if (line.type === 'item') items.push(line.item);
  if (line.type === 'away') aways.push(line.away);
}

function oneAnswer(item: Item, { form, kind }: ListQuestion, aways: readonly Away[]): ApiResponse {
  const object = stamped(item, String(item.revision));
  const headers = warned(aways.map(awayText));
  if (form.as !== 'Table') return { status: 200, body: Buffer.concat([...object, Buffer.from('\n')]), headers };
  const head = {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${form.version}`,
    metadata: { resourceVersion: String(item.revision) },
    columnDefinitions: fleetColumns(kind),
  };
  const text = Buffer.from(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
  return { status: 200, body: Buffer.concat([text, ...object, Buffer.from(']}\n')]), headers };
}

function ambiguous(key: ObjectKey, items: readonly Item[]): BanyanError {
  const paths = items.slice(0, pathsShownMax).map(({ path }) => clusterOf(path));
  const more = items.length > pathsShownMax ? ', and more' : '';
  const [first = ''] = paths;
  const remedy = `?at=${first}, or list with -l banyan.io/path=${pathValue(first)} --field-selector metadata.name=${key.name}`;
  const plural = key.group === '' ? key.resource : `${key.resource}.${key.group}`;
  const message = `several clusters have ${plural} "${key.name}": ${paths.join(', ')}${more}; name one of them: ${remedy}`;
  return new BanyanError('Conflict', message, notFound(key).details);
}
