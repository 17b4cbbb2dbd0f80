/** For `banyan why`: whether the cluster takes anything from its parent at all, as each sibling of the parent sees it. */
import type { Condition } from '../../core/object/meta.ts';
import type { ApiClient } from './api-client.ts';

export async function waitsLines(api: ApiClient, at: string): Promise<string[]> {
  const cut = at.lastIndexOf(':');
  const parent = cut < 0 ? 'center' : at.slice(0, cut);
  const siblings = api
    .contexts()
    .filter((context) => context === `node/${parent}` || context.startsWith(`node/${parent}~`));
  const path = `/apis/mesh.banyan.io/v1alpha1/nodes/${at.replaceAll(':', '.')}`;
  const lines = await Promise.all(
    siblings.map(async (context) => {
      // A sibling that does not answer, or has no such child, knows of no waiting.
      const node = await api.get(context, path).catch(() => undefined);
      const { conditions = [] } = (node?.status ?? {}) as { conditions?: Condition[] };
      const waits = conditions.find(({ type, status }) => type === 'WaitsForParent' && status === 'True');
      return waits ? [`${context}: the agent ${waits.message}`] : [];
    }),
  );
  return lines.flat();
}
