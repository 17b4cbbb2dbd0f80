/** `banyan why OBJECT --at PATH`: follows one object from its space to one cluster, and stops at the hop where the answer lies. */
import type { KubeObject } from '../../core/object/meta.ts';
import { type LabelSelector, matchesSelector } from '../../core/object/selector.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type DownsyncItem, selectingItems } from '../../relay/spaces/downsync.ts';
import { inheritedBelow } from '../../relay/tree/inherited-labels.ts';
import { ancestors } from '../topology/plan.ts';
import type { ApiClient } from './api-client.ts';
import { type FoundResource, findResource, objectPath } from './resources.ts';

export interface WhyQuestion {
  /** `deployment/till` */
  readonly object: string;
  readonly namespace: string;
  /** `space/center/retail` */
  readonly space: string;
  /** `eu:paris:store-17` */
  readonly at: string;
}

interface Placement {
  readonly name: string;
  readonly selectors: readonly LabelSelector[];
}

const placements = '/apis/edge.banyan.io/v1alpha1/edgeplacements';

export async function why(api: ApiClient, question: WhyQuestion): Promise<string[]> {
  const [word, name] = question.object.split('/');
  if (!word || !name)
    throw new BanyanError(
      'BadRequest',
      `"${question.object}" is not of the form KIND/NAME, for example deployment/till`,
    );
  const resource = await findResource(api, question.space, word);
  const path = objectPath(resource, question.namespace, name);
  const lines: string[] = [];
  const object = await api.get(question.space, path);
  if (!object)
    return [
      `${question.space}: there is no ${question.object}${resource.namespaced ? ` in namespace ${question.namespace}` : ''}`,
    ];
  lines.push(`${question.space}: it is here, generation ${object.metadata.generation ?? 0}`);
  const selecting = await selectingPlacements(api, question.space, resource, object, name);
  if (selecting.length === 0)
    return [...lines, `${question.space}: no EdgePlacement selects it (spec.downsync), so it goes nowhere`];
  lines.push(`${question.space}: selected by ${selecting.map((p) => p.name).join(', ')}`);
  return [...lines, ...(await followDown(api, question, path, selecting))];
}

async function followDown(
  api: ApiClient,
  question: WhyQuestion,
  path: string,
  selecting: readonly Placement[],
): Promise<string[]> {
  const lines: string[] = [];
  const [, origin, space] = question.space.split('/') as [string, string, string];
  const originPath = origin === 'center' ? '' : origin;
  const source = `${origin.replaceAll(':', '.')}.${space}`;
  for (const relay of ancestors(question.at)) {
    if (relay === originPath || !relay.startsWith(originPath)) continue;
    const context = `space/${relay}/${source}`;
    if (!(await api.get(context, path))) {
      lines.push(`${context}: it did not come here`);
      const came = await Promise.all(selecting.map((p) => api.get(context, `${placements}/${p.name}`)));
      lines.push(
        came.some((placement) => placement !== undefined)
          ? `${context}: the placement came, so the object is on its way; see the lag in "banyan tree"`
          : `${context}: nothing below matches the placement's locationSelectors`,
      );
      return lines;
    }
    lines.push(`${context}: it is cached here`);
  }
  return [...lines, ...(await atCluster(api, question, path, selecting))];
}

async function atCluster(
  api: ApiClient,
  question: WhyQuestion,
  path: string,
  selecting: readonly Placement[],
): Promise<string[]> {
  const lines: string[] = [];
  const inMailbox = await api.get(`mailbox/${question.at}`, path);
  if (!inMailbox) {
    const parent = ancestors(question.at).at(-1) ?? '';
    const context = `node/${parent === '' ? 'center' : parent}`;
    const location = await api.get(
      context,
      `/apis/inventory.banyan.io/v1alpha1/locations/${question.at.split(':').at(-1)}`,
    );
    lines.push(`mailbox/${question.at}: it is not meant for this cluster`);
    if (!location) return [...lines, `${context}: there is no Location for it`];
    const labels = { ...inheritedBelow(parent, {}, {}), ...location.metadata.labels };
    for (const { name, selectors } of selecting) {
      const own = selectors.some((selector) => matchesSelector(selector, labels));
      lines.push(
        `${name}: ${own ? 'matches the Location' : `does not match the Location's labels ${JSON.stringify(labels)}`}`,
      );
    }
    return lines;
  }
  lines.push(`mailbox/${question.at}: it is in the mailbox${inMailbox.status ? ', and its status has come back' : ''}`);
  const onCluster = await api.get(`cluster/${question.at}`, path);
  lines.push(
    `cluster/${question.at}: ${onCluster ? `it is there, uid ${onCluster.metadata.uid}` : "it is not there yet; the agent's log says why"}`,
  );
  return lines;
}

async function selectingPlacements(
  api: ApiClient,
  context: string,
  resource: FoundResource,
  object: KubeObject,
  name: string,
): Promise<Placement[]> {
  const namespace = object.metadata.namespace ?? '';
  const namespaceObject = namespace === '' ? undefined : await api.get(context, `/api/v1/namespaces/${namespace}`);
  const candidate = {
    key: { group: resource.group, resource: resource.resource, namespace, name },
    labels: object.metadata.labels ?? {},
    ...(namespace === '' ? {} : { namespaceLabels: namespaceObject?.metadata.labels ?? {} }),
  };
  return (await api.list(context, placements))
    .map((placement) => ({
      name: placement.metadata.name ?? '',
      spec: (placement.spec ?? {}) as { downsync?: DownsyncItem[]; locationSelectors?: LabelSelector[] },
    }))
    .filter(({ spec }) => selectingItems(spec.downsync ?? [], candidate).length > 0)
    .map((placement) => ({ name: placement.name, selectors: placement.spec.locationSelectors ?? [] }));
}
