/** For `banyan why`: whether the agent is away, or waits for its parent, as each replica of the parent shows it. */
import { parentOf } from '../../core/identity/node-path.ts';
import type { Condition } from '../../core/object/meta.ts';
import { ageText } from './age.ts';
import type { NodeApiClient } from './api-client.ts';
import { nodeContexts } from './node-contexts.ts';
import { nodeObject } from './object-paths.ts';

interface ShownAgent {
  readonly session?: { readonly state?: string; readonly since?: string };
  readonly conditions?: readonly Condition[];
}

/** An agent is away only if no replica of its parent has a session with the agent. */
export async function agentLines(
  api: Pick<NodeApiClient, 'contexts' | 'get'>,
  at: string,
  nowMs: number,
): Promise<string[]> {
  const replicas = nodeContexts(api.contexts(), parentOf(at));
  const path = nodeObject(at);
  const shown = await Promise.all(
    replicas.map(async (context) => {
      // A replica that does not answer, or has no such child, adds no line.
      const node = await api.get(context, path).catch(() => undefined);
      return { context, agent: (node?.status ?? {}) as ShownAgent };
    }),
  );
  const isConnected = shown.some(({ agent }) => agent.session?.state === 'Connected');
  return shown.flatMap(({ context, agent: { session, conditions = [] } }) => {
    const waits = conditions.find(({ type, status }) => type === 'WaitsForParent' && status === 'True');
    const away = isConnected ? undefined : awayText(session, nowMs);
    return [away, waits?.message].flatMap((text) => (text === undefined ? [] : [`${context}: the agent ${text}`]));
  });
}

function awayText(session: ShownAgent['session'], nowMs: number): string | undefined {
  if (session?.state === 'Never') return 'has never connected';
  if (session?.state !== 'Disconnected') return undefined;
  return session.since === undefined ? 'is away' : `has been away for ${ageText(nowMs - Date.parse(session.since))}`;
}
