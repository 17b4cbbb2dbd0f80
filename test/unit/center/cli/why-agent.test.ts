import { expect, it } from 'vitest';
import { agentLines } from '../../../../center/cli/why-agent.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const nowMs = Date.parse('2030-01-01T10:00:00Z');
const node = (status: KubeObject['status'] & object): KubeObject => ({
  apiVersion: 'mesh.banyan.io/v1alpha1',
  kind: 'Node',
  metadata: { name: 'eu.till' },
  status,
});
const away = node({ session: { state: 'Disconnected', since: '2030-01-01T09:57:00Z' } });
const there = node({ session: { state: 'Connected' } });
const waits = node({
  session: { state: 'Connected' },
  conditions: [{ type: 'WaitsForParent', status: 'True', message: 'waits for a complete copy' }],
});

function lines(at: Readonly<Record<string, KubeObject>>): Promise<string[]> {
  const contexts = () => ['node/center', ...Object.keys(at)];
  return agentLines({ contexts, get: async (context) => at[context] }, 'eu:till', nowMs);
}

it('an agent is away only if no replica of its parent has a session with it', async () => {
  expect(await lines({ 'node/eu': away })).toEqual(['node/eu: the agent has been away for 3m']);
  expect(await lines({ 'node/eu': away, 'node/eu~1': there })).toEqual([]);
});

it('an agent that waits for its parent says so', async () => {
  expect(await lines({ 'node/eu': waits })).toEqual(['node/eu: the agent waits for a complete copy']);
});
