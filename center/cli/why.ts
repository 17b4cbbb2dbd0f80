/** `banyan why OBJECT --at PATH`: follows one object from its space to one cluster, and stops at the hop where the answer lies. */

import { ancestorsOf, isBelow, pathShownAs } from '../../core/identity/node-path.ts';
import { formatGroupResource } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { cliCommand } from '../../core/runtime/cli-command.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type DownsyncItem, selectingItems } from '../../relay/spaces/downsync.ts';
import { sourceName } from '../topology/plan.ts';
import type { ApiClient } from './api-client.ts';
import { askSiblings, spaceContexts } from './node-contexts.ts';
import { type FoundResource, findResource, objectPath } from './resources.ts';
import { inventoryLines, reaching } from './why-destination.ts';
import { heldBack } from './why-held.ts';
import { inMailbox, onCluster } from './why-mailbox.ts';
import { waitsLines } from './why-waits.ts';

export interface WhyQuestion {
  /** `deployment/till` */
  readonly object: string;
  readonly namespace: string;
  /** `space/center/retail` */
  readonly space: string;
  /** `eu:paris:store-17` */
  readonly at: string;
}

/** What is looked for, once it is found. */
interface Sought {
  readonly question: WhyQuestion;
  /** Of the object, in any of the APIs. */
  readonly path: string;
  /** As failures name it: `configmaps shop/greeting`. */
  readonly named: string;
  readonly object: KubeObject;
  readonly placements: readonly KubeObject[];
}

const placementsPath = '/apis/edge.banyan.io/v1alpha1/edgeplacements';

export async function why(api: ApiClient, question: WhyQuestion): Promise<string[]> {
  const { space, namespace } = question;
  const [word, name] = question.object.split('/');
  if (!word || !name)
    throw new BanyanError(
      'BadRequest',
      `"${question.object}" is not of the form KIND/NAME, for example deployment/till`,
    );
  const resource = await findResource(api, space, word);
  const path = objectPath(resource, namespace, name);
  const object = await api.get(space, path);
  if (!object) {
    return [`${space}: there is no ${question.object}${resource.namespaced ? ` in namespace ${namespace}` : ''}`];
  }
  const here = `${space}: it is here, generation ${object.metadata.generation ?? 0}`;
  const placements = await selectingPlacements(api, space, resource, object, name);
  if (placements.length === 0)
    return [here, `${space}: no EdgePlacement selects it (spec.downsync), so it goes nowhere`];
  const named = `${formatGroupResource(resource)} ${resource.namespaced ? `${namespace}/` : ''}${name}`;
  const selected = `${space}: selected by ${placements.map(({ metadata }) => metadata.name).join(', ')}`;
  return [here, selected, ...(await followDown(api, { question, path, named, object, placements }))];
}

async function followDown(api: ApiClient, sought: Sought): Promise<string[]> {
  const { question, path, placements } = sought;
  const lines: string[] = [];
  const [, origin, space] = question.space.split('/') as [string, string, string];
  const originPath = pathShownAs(origin);
  const source = sourceName(originPath, space);
  let lastHop = question.space;
  for (const relay of ancestorsOf(question.at).filter((above) => isBelow(above, originPath))) {
    const hops = spaceContexts(api.contexts(), relay, source);
    const { context, answer } = await askSiblings(hops, (hop) => api.get(hop, path));
    lastHop = context;
    if (!answer) {
      lines.push(`${lastHop}: it did not come here`);
      const came = await Promise.all(
        placements.map(({ metadata }) => api.get(lastHop, `${placementsPath}/${metadata.name}`)),
      );
      if (came.some((placement) => placement !== undefined)) {
        return [
          ...lines,
          `${lastHop}: the placement came, so the object is on its way; see the lag in: ${cliCommand('tree')}`,
        ];
      }
      lines.push(`${lastHop}: nothing below matches the placement's locationSelectors and locationExpression`);
      return [...lines, ...(await inventoryLines(api, question.at))];
    }
    lines.push(`${lastHop}: it is cached here`);
  }
  return [...lines, ...(await atLastHop(api, sought, lastHop))];
}

async function atLastHop(api: ApiClient, sought: Sought, lastHop: string): Promise<string[]> {
  const { question, path, named, object, placements } = sought;
  const { at } = question;
  const [received, byPlacement] = await Promise.all([inMailbox(api, at, path), reaching(api, lastHop, at)]);
  const lines: string[] = [];
  const held: string[] = [];
  for (const origin of placements) {
    const name = origin.metadata.name ?? '';
    const isHere = lastHop === question.space;
    const below = isHere ? origin : await api.get(lastHop, `${placementsPath}/${name}`);
    const locations = byPlacement.get(name);
    lines.push(
      `${name}: ${locations ? `matches the Location ${locations.join(', ')}` : 'matches none of its Locations'}`,
    );
    held.push(...heldBack({ name, origin, lastHop: below }, at, named));
  }
  if (!received) {
    const meant = placements.some(({ metadata }) => byPlacement.has(metadata.name ?? ''));
    lines.unshift(
      `mailbox/${at}: ${meant ? 'it is meant for this cluster, and not in its mailbox' : 'it is not meant for this cluster'}`,
    );
    return [...lines, ...held, ...(meant ? [] : await inventoryLines(api, at))];
  }
  const [is, was] = [object, received].map(({ metadata }) => metadata.generation ?? 0) as [number, number];
  const form = was < is ? ` as of generation ${was}` : '';
  lines.push(`mailbox/${at}: it is in the mailbox${form}${received.status ? ', and its status has come back' : ''}`);
  return [...lines, ...held, ...(await waitsLines(api, at)), await onCluster(api, at, path)];
}

async function selectingPlacements(
  api: ApiClient,
  context: string,
  resource: FoundResource,
  object: KubeObject,
  name: string,
): Promise<KubeObject[]> {
  const namespace = object.metadata.namespace ?? '';
  const namespaceObject = namespace === '' ? undefined : await api.get(context, `/api/v1/namespaces/${namespace}`);
  const candidate = {
    key: { group: resource.group, resource: resource.resource, namespace, name },
    labels: object.metadata.labels ?? {},
    ...(namespace === '' ? {} : { namespaceLabels: namespaceObject?.metadata.labels ?? {} }),
  };
  return (await api.list(context, placementsPath)).filter(
    ({ spec }) =>
      selectingItems((spec as { downsync?: DownsyncItem[] } | undefined)?.downsync ?? [], candidate).length > 0,
  );
}
