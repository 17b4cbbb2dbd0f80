/** Finds what a word of a person names among the resources that a server serves. */

export interface ServedResource {
  /** `/api/v1`, `/apis/apps/v1`. */
  readonly root: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly singularName: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly shortNames?: readonly string[];
  }[];
}

interface GroupList {
  readonly groups: readonly { readonly name: string; readonly preferredVersion: { readonly version: string } }[];
}

type Get = (path: string) => Promise<unknown>;

/** Undefined: nothing of that name is served now. The core group wins over all others, as with kubectl. */
export async function servedAs(word: string, get: Get): Promise<ServedResource | undefined> {
  const [name = '', ...group] = word.toLowerCase().split('.');
  for (const root of await roots(group.join('.'), get)) {
    const found = ((await get(root)) as ResourceList | undefined)?.resources.find(
      (one) =>
        !one.name.includes('/') &&
        [one.name, one.singularName, one.kind.toLowerCase(), ...(one.shortNames ?? [])].includes(name),
    );
    if (found) return { root, plural: found.name, namespaced: found.namespaced };
  }
  return undefined;
}

async function roots(group: string, get: Get): Promise<string[]> {
  const { groups } = (await get('/apis')) as GroupList;
  const named = groups.filter(({ name }) => group === '' || name === group || name.startsWith(`${group}.`));
  const others = named.map(({ name, preferredVersion }) => `/apis/${name}/${preferredVersion.version}`);
  return group === '' ? ['/api/v1', ...others] : others;
}
