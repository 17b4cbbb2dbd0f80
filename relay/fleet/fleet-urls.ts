/**
 * The URLs `/fleet/SPACE/...` of a node: a read-only API of Kubernetes over the copies of a space's objects at all clusters below. SPACE is a space of this node,
 * or the source of a space above, as in `/spaces/SOURCE`.
 */

import { checkPlace, type ResourceRoute, type SpaceHandler } from '../../core/apiserver/http/handler.ts';
import { checkListOptions } from '../../core/apiserver/http/list-options.ts';
import { type Form, negotiate } from '../../core/apiserver/http/negotiate.ts';
import type { NodeUrls } from '../../core/apiserver/http/node-urls.ts';
import {
  type ApiResponse,
  header,
  integerOf,
  resourceVersionOf,
  type StreamedResponse,
} from '../../core/apiserver/http/requests.ts';
import { routeOf } from '../../core/apiserver/http/route.ts';
import type { Kind, Kinds } from '../../core/apiserver/space.ts';
import { checkPath, isAtOrBelow, pathShownAs, shownPath } from '../../core/identity/node-path.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import type { FleetLine } from './fleet-lines.ts';
import { type AnswerForm, askedKindOf, type ListQuestion, type WatchQuestion } from './fleet-question.ts';
import { documentsOf, type FleetRequest, type FleetSpacePorts, fleetRequest, readOnly } from './fleet-space.ts';
import type { Fleets } from './fleets.ts';
import { listAnswer } from './list-answer.ts';
import { decodeToken } from './list-token.ts';
import { oneAnswer, oneAnswerLimit } from './one-answer.ts';
import { expired } from './positions.ts';
import { copySelection, pathsSelected } from './selection.ts';
import { PartSignal } from './signals.ts';
import { watchAnswer } from './watch-answer.ts';

/** Time that the node waits for a child relay that sends nothing: as long as a person waits. */
const patienceMs = 10_000;
/** Discovery goes on without the relays that do not answer within this time. */
const kindsPatienceMs = 2_000;
const watchTimeoutMs = 30 * 60_000;
/** Longer than any client keeps a watch, and less than the maximum of a timer. */
const watchTimeoutMsMax = 24 * 3_600_000;

export interface FleetUrlsPorts extends FleetSpacePorts {
  readonly fleets: Fleets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export function fleetUrls(ports: FleetUrlsPorts): NodeUrls {
  /** One for each fleet: documents of the same kinds are made only once. */
  const handlers = new WeakMap<Kinds, SpaceHandler>();
  return (request, signal) => {
    if (!request.path.startsWith('/fleet/')) return undefined;
    return answerOf(ports, handlers, fleetRequest(ports, request, signal));
  };
}

async function answerOf(
  ports: FleetUrlsPorts,
  handlers: WeakMap<Kinds, SpaceHandler>,
  asked: FleetRequest,
): Promise<ApiResponse | StreamedResponse> {
  if (asked.request.method !== 'GET') throw readOnly(asked);
  const route = routeOf(asked.request.path);
  if (route.type === 'resource') return resource(ports, asked, route);
  await learnKinds(ports, asked);
  const kinds = ports.fleets.kinds(asked.source);
  const handler = handlers.get(kinds) ?? documentsOf(kinds, asked.prefix, ports);
  handlers.set(kinds, handler);
  const handled = await handler.handle(asked.request);
  if ('answer' in handled) return handled.answer;
  throw new BanyanError('NotFound', 'the server could not find the requested resource');
}

function learnKinds({ fleets }: FleetUrlsPorts, { source, request, signal }: FleetRequest): Promise<void> {
  return fleets.learnKinds({ type: 'kinds', source, patienceMs: kindsPatienceMs }, request.user, signal);
}

// --------------------------------------------------------------------------------------------------------- resources

async function resource(
  ports: FleetUrlsPorts,
  asked: FleetRequest,
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
  if (route.name !== '') {
    const question: ListQuestion = { type: 'list', ...which, name: route.name, limit: oneAnswerLimit };
    const lines = ports.fleets.answer(question, user, asked.signal);
    return oneAnswer(lines, question, { ...route.of, namespace: route.namespace, name: route.name });
  }
  const isWatch = query.get('watch') === 'true' || query.get('watch') === '1';
  checkListOptions(query, isWatch);
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

async function kindOf(ports: FleetUrlsPorts, asked: FleetRequest, { of, version }: ResourceRoute): Promise<Kind> {
  const known = () => ports.fleets.kinds(asked.source).byResource(of);
  if (!known()?.versions.includes(version)) await learnKinds(ports, asked);
  const kind = known();
  if (kind?.versions.includes(version)) return kind;
  throw new BanyanError('NotFound', 'the server could not find the requested resource');
}

type Which = Omit<WatchQuestion, 'type' | 'position'>;

function whichOf({ path }: FleetUrlsPorts, { source, request }: FleetRequest, route: ResourceRoute, kind: Kind): Which {
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
  return form.as === 'PartialObjectMetadata'
    ? { as: 'PartialObjectMetadata', version: form.version, includeObject }
    : { as: 'object', version: 'v1', includeObject };
}

async function watch(ports: FleetUrlsPorts, asked: FleetRequest, which: Which, kind: Kind): Promise<StreamedResponse> {
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
