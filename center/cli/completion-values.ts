/** The values that completion gets from a tree. A person waits for these values, so their number and the time for them are small. */
import type { NodeApiClient } from './api-client.ts';
import type { TypedOptions, WordSource } from './completion.ts';
import { openTree, treeKubeconfig } from './open-tree.ts';
import { collectionPath, findResource } from './resources.ts';

/** Longest wait. Then there are no values. */
const withinMs = 2_000;
/** Objects in one answer. */
const objectsMax = 200;

export const treeValues: WordSource = {
  contexts: async (typed) => treeKubeconfig(typed).config.contexts.map(({ name }) => name),
  paths: (typed) =>
    ofTree(typed, async (api) => {
      const paths = api.contexts().flatMap((context) => /^(?:node|mailbox|cluster)\/(.+)$/.exec(context)?.[1] ?? []);
      return [...new Set(paths)].sort();
    }),
  placements: (typed) =>
    ofTree(typed, async (api) => {
      const path = `/apis/edge.banyan.io/v1alpha1/edgeplacements?limit=${objectsMax}`;
      const all = await api.list(spaceIn(api, typed), path);
      return all.map(({ metadata }) => `epl/${metadata.name}`);
    }),
  objects: (kind, typed) =>
    ofTree(typed, async (api) => {
      const space = spaceIn(api, typed);
      const namespace = typed.namespace ?? api.currentNamespace() ?? 'default';
      const path = collectionPath(await findResource(api, space, kind), namespace);
      const all = await api.list(space, `${path}?limit=${objectsMax}`);
      return all.map(({ metadata }) => `${kind}/${metadata.name}`);
    }),
};

function spaceIn(api: NodeApiClient, { space }: TypedOptions): string {
  return space ?? api.currentContext();
}

async function ofTree<T>(
  typed: TypedOptions,
  use: (api: NodeApiClient) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly T[]>((done) => {
    timer = setTimeout(() => done([]), withinMs);
  });
  const answer = openTree(typed).then(async (api) => use(api).finally(() => api.close()));
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
