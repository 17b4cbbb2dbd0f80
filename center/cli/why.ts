/** `banyan why OBJECT --at PATH`: follows one object from its space to one cluster, and stops at the hop that shows the reason. */

import type { DownsyncItem } from '../../core/apiserver/kinds/edge-placement.ts';
import { ancestorsOf, isBelow, pathShownAs } from '../../core/identity/node-path.ts';
import { formatGroupResource } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { isTerminating } from '../../core/object/terminating.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { bookkeepingOf } from '../../relay/spaces/bookkeeping.ts';
import { effectivePlacement } from '../../relay/spaces/deleted-in-space.ts';
import { candidateOf, exceptionsFor, selectingItems } from '../../relay/spaces/downsync.ts';
import { sourceName } from '../topology/plan.ts';
import type { NodeApiClient } from './api-client.ts';
import { checkOrigin, didYouMean, type ObjectOfKind } from './arguments.ts';
import { checkCluster } from './known-cluster.ts';
import { askReplicas, spaceContexts } from './node-contexts.ts';
import { collectionPath, type FoundResource, findResource, objectPath, readObject } from './resources.ts';
import { agentLines } from './why-agent.ts';
import { outsideBounds } from './why-bounds.ts';
import { inventoryLines, reaching } from './why-destination.ts';
import { heldBack, isConflicted, type ShownPlacement } from './why-held.ts';
import { inMailbox, onCluster } from './why-mailbox.ts';
import { winnerLine } from './why-winner.ts';

export interface WhyQuestion {
  readonly object: ObjectOfKind;
  readonly namespace: string;
  /** `space/center/retail` */
  readonly space: string;
  /** `eu:paris:store-17` */
  readonly at: string;
  readonly nowMs: number;
}

/** The object that was found. */
interface Sought {
  readonly question: WhyQuestion;
  /** The path of the object, which is the same in all APIs. */
  readonly path: string;
  /** The name of the object in failures: `configmaps shop/greeting`. */
  readonly named: string;
  readonly object: KubeObject;
  readonly resource: FoundResource;
  readonly placements: readonly KubeObject[];
}

const onlyByName =
  '* in resources does not include it, because it is bookkeeping of the space or of its clients: an EdgePlacement has to name its resource, or its name in objectNames';
const placementsPath = '/apis/edge.banyan.io/v1alpha1/edgeplacements';

type WhyApi = Pick<NodeApiClient, 'contexts' | 'get' | 'list'>;

export async function why(api: WhyApi, question: WhyQuestion): Promise<string[]> {
  const { space, namespace } = question;
  const { kind, name } = question.object;
  checkOrigin(space);
  await checkCluster(api, question.at);
  const named = await findResource(api, space, kind);
  const found = await readObject(api, space, named, [namespace, name]);
  if (!found) throw await noObject(api, question, named, name);
  const { resource, object } = found;
  const path = objectPath(resource, namespace, name);
  const atOrigin = `${space}: it is here, generation ${object.metadata.generation ?? 0}`;
  const { placements, exceptions } = await selectingPlacements(api, space, resource, object, name);
  if (isTerminating(object)) return [atOrigin, `${space}: ${deletedMessage(object)}`];
  const { group, resource: plural, namespaced } = resource;
  const key = { group, resource: plural, namespace: namespaced ? namespace : '', name };
  const outside = await outsideBounds(api, space, key);
  if (outside !== undefined) return [atOrigin, `${space}: ${outside}`];
  if (placements.length === 0)
    return [
      atOrigin,
      `${space}: no EdgePlacement selects it (spec.downsync), so it goes nowhere`,
      ...exceptions.map((exception) => `${space}: ${exception}`),
      ...(bookkeepingOf(resource, object) ? [`${space}: ${onlyByName}`] : []),
    ];
  const shown = `${formatGroupResource(resource)} ${resource.namespaced ? `${namespace}/` : ''}${name}`;
  const selected = `${space}: selected by ${placements.map(({ metadata }) => metadata.name).join(', ')}`;
  return [
    atOrigin,
    selected,
    ...(await followDown(api, { question, path, named: shown, object, resource, placements })),
  ];
}

async function followDown(api: WhyApi, sought: Sought): Promise<string[]> {
  const { question, path, placements } = sought;
  const lines: string[] = [];
  const [, origin, space] = question.space.split('/') as [string, string, string];
  const originPath = pathShownAs(origin);
  if (!isBelow(question.at, originPath)) {
    return [
      `${question.space}: ${question.at} is not below ${origin}, and a space sends objects only to nodes below its own node`,
    ];
  }
  const source = sourceName(originPath, space);
  let lastHop = question.space;
  for (const relay of ancestorsOf(question.at).filter((above) => isBelow(above, originPath))) {
    const hops = spaceContexts(api.contexts(), relay, source);
    const found = await unlessForbidden(askReplicas(hops, (hop) => api.get(hop, path)));
    if (typeof found === 'string') return [...lines, `${hops[0]}: ${found}`, ...(await fromOrigin(api, sought))];
    const { context, answer } = found;
    lastHop = context;
    if (!answer) {
      lines.push(`${lastHop}: the object has not arrived here`);
      const arrived = await Promise.all(
        placements.map(({ metadata }) => api.get(lastHop, `${placementsPath}/${metadata.name}`)),
      );
      if (arrived.some((placement) => placement !== undefined)) {
        return [
          ...lines,
          `${lastHop}: the placement has arrived, so the object is on its way; see the lag in: ${cliCommand('tree')}`,
        ];
      }
      lines.push(`${lastHop}: nothing below matches the placement's locationSelectors and locationExpression`);
      return [...lines, ...(await inventoryLines(api, question.at))];
    }
    lines.push(`${lastHop}: it is cached here`);
  }
  return [...lines, ...(await atLastHop(api, sought, lastHop))];
}

/** Returns the message of a refusal. People who may read only their space learn from the status there what the nodes below have reported. */
async function unlessForbidden<T>(asked: Promise<T>): Promise<T | string> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof BanyanError && error.code === 'Forbidden') return error.message;
    throw error;
  }
}

async function fromOrigin(api: WhyApi, sought: Sought): Promise<string[]> {
  const { question, named, placements } = sought;
  const shown = placements.map((origin) => ({ name: nameOfObject(origin), origin, lastHop: origin }));
  const reasons = shown.flatMap((one) => heldBack(one, question.at, named));
  const none = `${question.space}: the status of its placements has nothing about this cluster`;
  return [...(reasons.length > 0 ? reasons : [none]), ...(await winnerOf(api, sought, shown))];
}

async function winnerOf(api: WhyApi, sought: Sought, shown: readonly ShownPlacement[]): Promise<string[]> {
  const { question, path, named, resource, placements } = sought;
  if (!shown.some((one) => isConflicted(one, question.at, named))) return [];
  const { space, at, object } = question;
  const line = await winnerLine(api, { space, at, path, placements }, async (context, there) => {
    return (await selectingPlacements(api, context, resource, there, object.name)).placements;
  });
  return [line];
}

async function atLastHop(api: WhyApi, sought: Sought, lastHop: string): Promise<string[]> {
  const { question, path, named, object, placements } = sought;
  const { at } = question;
  const [received, byPlacement] = await Promise.all([
    inMailbox(api, at, path),
    reaching(api, lastHop, at, placements.map(nameOfObject)),
  ]);
  const lines: string[] = [];
  const reasons: string[] = [];
  const shown: ShownPlacement[] = [];
  for (const origin of placements) {
    const name = nameOfObject(origin);
    const isHere = lastHop === question.space;
    const below = isHere ? origin : await api.get(lastHop, `${placementsPath}/${name}`);
    const locations = byPlacement.get(name);
    lines.push(
      `${name}: ${locations ? `matches the Location ${locations.join(', ')}` : 'matches none of its Locations'}`,
    );
    shown.push({ name, origin, lastHop: below });
    reasons.push(...heldBack(shown.at(-1)!, at, named));
  }
  reasons.push(...(await winnerOf(api, sought, shown)));
  if (!received) {
    const isDestination = placements.some(({ metadata }) => byPlacement.has(metadata.name ?? ''));
    lines.unshift(
      `mailbox/${at}: ${isDestination ? 'it is meant for this cluster, and not in its mailbox' : 'it is not meant for this cluster'}`,
    );
    const more = isDestination ? await agentLines(api, at, question.nowMs) : await inventoryLines(api, at);
    return [...lines, ...reasons, ...more];
  }
  const [generation, receivedGeneration] = [object, received].map(({ metadata }) => metadata.generation ?? 0) as [
    number,
    number,
  ];
  const form = receivedGeneration < generation ? ` as of generation ${receivedGeneration}` : '';
  lines.push(`mailbox/${at}: it is in the mailbox${form}${received.status ? ', and its status has come back' : ''}`);
  const away = await agentLines(api, at, question.nowMs);
  return [...lines, ...reasons, ...away, await onCluster(api, at, path, received)];
}

async function selectingPlacements(
  api: WhyApi,
  context: string,
  resource: FoundResource,
  object: KubeObject,
  name: string,
): Promise<{ placements: KubeObject[]; exceptions: string[] }> {
  const namespace = object.metadata.namespace ?? '';
  const namespaceObject = namespace === '' ? undefined : await api.get(context, `/api/v1/namespaces/${namespace}`);
  const key = { group: resource.group, resource: resource.resource, namespace, name };
  const candidate = candidateOf(key, object, namespace === '' ? undefined : (namespaceObject?.metadata.labels ?? {}));
  const all = (await api.list(context, placementsPath)).map((placement) => ({
    placement,
    items: (effectivePlacement(placement).spec as { downsync?: DownsyncItem[] } | undefined)?.downsync ?? [],
  }));
  const selecting = all.filter(({ items }) => selectingItems(items, candidate).length > 0);
  const exceptions = all.flatMap(({ placement, items }) =>
    exceptionsFor(items, candidate).map((field) => `${nameOfObject(placement)} leaves it out (${field})`),
  );
  return { placements: selecting.map(({ placement }) => placement), exceptions };
}

function nameOfObject({ metadata }: KubeObject): string {
  return metadata.name ?? '';
}

function deletedMessage({ metadata }: KubeObject): string {
  const { deletionTimestamp, finalizers = [] } = metadata;
  return `it was deleted at ${deletionTimestamp}, so no EdgePlacement sends it any more; it stays here until its finalizers are gone: ${finalizers.join(', ')}`;
}

/** Number of names that the command reads to suggest the right one for a mistyped name. A space may have 100,000 objects. */
const namesMax = 500;

async function noObject(
  api: WhyApi,
  { object, space, namespace }: WhyQuestion,
  resource: FoundResource,
  name: string,
): Promise<BanyanError> {
  const all = collectionPath(resource);
  const where = resource.namespaced ? ` in the namespace "${namespace}"` : '';
  const missing = `${space}: there is no ${object.kind}/${object.name}${where}`;
  const namesakes = await api.list(space, `${all}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`);
  const [namesake] = namesakes.map(({ metadata }) => metadata.namespace ?? '');
  if (namesake) return new BanyanError('NotFound', `${missing}; there is one in another namespace: -n ${namesake}`);
  const near = await api.list(space, `${collectionPath(resource, namespace)}?limit=${namesMax}`);
  const listing = `for a list: kubectl --context ${space} get ${resource.resource}${resource.namespaced ? ' -A' : ''}`;
  return new BanyanError('NotFound', `${missing}: ${didYouMean(name, near.map(nameOfObject), listing)}`);
}
