import { expect, it } from 'vitest';
import { approveDeletions } from '../../../../center/cli/approve-deletions.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

function shop(state: string, held?: object): KubeObject {
  return {
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'Node',
    metadata: { name: 'eu.paris.shop' },
    spec: { path: 'eu:paris:shop' },
    status: { session: { state }, ...(held ? { held } : {}) },
  };
}

it('asks the replica to which the node is attached', async () => {
  const held = { entries: 2, since: '2030-01-01T10:00:00Z', token: 'abc', sample: ['o/center.retail/x'] };
  const shown: Record<string, KubeObject> = {
    'node/eu:paris': shop('Disconnected'),
    'node/eu:paris~1': shop('Connected', held),
    'node/eu': shop('Connected'),
  };
  const applied: string[] = [];
  const lines: string[] = [];
  const api = {
    contexts: () => Object.keys(shown),
    get: async (context: string) => shown[context],
    apply: async (context: string) => {
      applied.push(context);
      shown[context] = shop('Connected');
      return shown[context];
    },
  };
  await approveDeletions(api, 'eu:paris:shop', false, (line) => lines.push(line));
  expect(applied).toEqual(['node/eu:paris~1']);
  expect(lines.join('\n')).toMatch(/2 entries are held.*deletions approved$/s);
});
