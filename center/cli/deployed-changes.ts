/** The changes of a deployed tree that its API can make: inventory, spaces, claims and quotas. Each is a patch of what differs, so a repeated one changes nothing. */
import { nameOf, parentOf, shownPath } from '../../core/identity/node-path.ts';
import { equalJson } from '../../core/object/json-value.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { SeenNode } from '../topology/deployed.ts';
import type { FieldDifference, TreeDifference } from '../topology/differences.ts';
import type { TopologySpace } from '../topology/topology.ts';
import { admission } from './admission.ts';
import type { NodeApiClient, WriteMethod } from './api-client.ts';
import { mergePatchBetween } from './merge-patch-between.ts';
import { nodeContexts } from './node-contexts.ts';
import { locations, nodeObject, spaceObjects, syncTargets } from './object-paths.ts';
import { removeObject } from './tree-targets.ts';

/** Changes what the API can change of a node. Throws the refusal of the node that has the object. */
export async function changeNode(
  api: NodeApiClient,
  { path, role, fields }: Pick<TreeDifference, 'path' | 'role' | 'fields'>,
  warn: (line: string) => void,
): Promise<void> {
  if (role === 'agent') await changeInventory(api, path, fields, warn);
  await changeSpaces(api, path, fields);
  if (!(await changeWritten(api, path, fields))) {
    warn(`${path}: its quota can be written when it has joined: run the command again then`);
  }
}

/** Writes labels, annotations and properties of a cluster to its objects at each replica of its parent. */
async function changeInventory(
  api: NodeApiClient,
  path: string,
  fields: readonly FieldDifference[],
  warn: (line: string) => void,
): Promise<void> {
  const patchOf = (name: string) => {
    const field = fields.find((one) => one.field === name);
    return field && mergePatchBetween(field.before ?? {}, field.after ?? {});
  };
  const [labels, annotations, properties] = ['labels', 'annotations', 'properties'].map(patchOf);
  if (!labels && !annotations && !properties) return;
  // Makes a Location that is missing.
  await (await admission(api, 'join-token', { path, labels: {}, again: true }, warn))();
  for (const context of nodeContexts(api.contexts(), parentOf(path))) {
    const name = nameOf(path);
    if (labels || annotations) await patch(api, context, `${locations}/${name}`, { metadata: { labels, annotations } });
    if (labels || properties) {
      await patch(api, context, `${syncTargets}/${name}`, { metadata: { labels }, spec: { properties } });
    }
  }
}

async function changeSpaces(api: NodeApiClient, path: string, fields: readonly FieldDifference[]): Promise<void> {
  const field = fields.find((one) => one.field === 'spaces');
  if (!field) return;
  const [before, after] = [field.before, field.after].map((list) => (list ?? []) as readonly TopologySpace[]);
  const context = `node/${shownPath(path)}`;
  for (const space of after!) {
    const { name, ...spec } = space;
    const former = before!.find((one) => one.name === name);
    if (!former) {
      const object = { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Space', metadata: { name }, spec };
      await write(api, context, 'POST', spaceObjects, object);
    } else if (!equalJson(former, space)) {
      // The name is the same, so the patch has only fields of the spec.
      await patch(api, context, `${spaceObjects}/${name}`, { spec: mergePatchBetween(former, space) });
    }
  }
}

/** Claims, quota and admitted hosts are in the Node object at the parent. Returns false if there is none: an agent has one as soon as it has joined. */
async function changeWritten(api: NodeApiClient, path: string, fields: readonly FieldDifference[]): Promise<boolean> {
  const written = fields.filter(({ field }) => ['claims', 'quota', 'hosts'].includes(field));
  if (written.length === 0) return true;
  const spec = Object.fromEntries(written.map(({ field, before, after }) => [field, mergePatchBetween(before, after)]));
  for (const context of nodeContexts(api.contexts(), parentOf(path))) {
    if (!(await api.get(context, nodeObject(path)))) return false;
    await patch(api, context, nodeObject(path), { spec });
  }
  return true;
}

/** Deletes a space. The node drains it first. */
export async function removeSpace(api: NodeApiClient, path: string, space: string): Promise<void> {
  await removeObject(api, `node/${shownPath(path)}`, `${spaceObjects}/${space}`);
}

/** Returns whether the configuration of the node names the space. Then only a change of the configuration removes the space. */
export function isConfigured(node: SeenNode | undefined, space: string): boolean {
  return node?.spaces?.some(({ name, isConfigured: is }) => is && name === space) ?? false;
}

function patch(api: NodeApiClient, context: string, path: string, body: object): Promise<void> {
  return write(api, context, 'PATCH', path, body);
}

async function write(
  api: NodeApiClient,
  context: string,
  method: WriteMethod,
  path: string,
  body: object,
): Promise<void> {
  const answer = await api.write(context, method, path, body);
  if ('refused' in answer) {
    throw new BanyanError(answer.refused.code, `${context}: ${path}: ${answer.refused.message}`);
  }
}
