/** For `banyan why`: whether the agent waits for its parent, as each replica of the parent shows it. */
import { dottedPath, parentOf } from '../../core/identity/node-path.ts';
import type { Condition } from '../../core/object/meta.ts';
import type { NodeApiClient } from './api-client.ts';
import { nodeContexts } from './node-contexts.ts';

export async function waitsLines(api: Pick<NodeApiClient, 'contexts' | 'get'>, at: string): Promise<string[]> {
  const replicas = nodeContexts(api.contexts(), parentOf(at));
  const path = `/apis/mesh.banyan.io/v1alpha1/nodes/${dottedPath(at)}`;
  const lines = await Promise.all(
    replicas.map(async (context) => {
      // A replica that does not answer, or has no such child, adds no line.
      const node = await api.get(context, path).catch(() => undefined);
      const { conditions = [] } = (node?.status ?? {}) as { conditions?: Condition[] };
      const waits = conditions.find(({ type, status }) => type === 'WaitsForParent' && status === 'True');
      return waits ? [`${context}: the agent ${waits.message}`] : [];
    }),
  );
  return lines.flat();
}
