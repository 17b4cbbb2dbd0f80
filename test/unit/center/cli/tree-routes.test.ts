import { describe, expect, it } from 'vitest';
import { TreeRoutes } from '../../../../center/cli/tree-routes.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

const node = (path: string, role: string): KubeObject => ({
  apiVersion: 'mesh.banyan.io/v1alpha1',
  kind: 'Node',
  metadata: { name: path || 'center' },
  spec: { path, role },
});

function routes(): TreeRoutes {
  const config = {
    'current-context': 'node/center',
    clusters: [{ name: 'center', cluster: { server: 'https://127.0.0.1:6443' } }],
    users: [{ name: 'admin', user: {} }],
    contexts: [{ name: 'node/center', context: { cluster: 'center', user: 'admin' } }],
  };
  return new TreeRoutes({ config, file: 'kubeconfig', current: 'node/center' });
}

describe('the contexts of a tree', () => {
  it('are those of the nodes that the entry knows, and those that nodes further down know', () => {
    const tree = routes();
    tree.enter([node('', 'Center'), node('eu', 'Relay')]);
    expect(tree.contexts()).toEqual(['node/center', 'node/eu', 'mailbox/eu']);
    tree.addContextsOf([node('eu', 'Relay'), node('eu:us', 'Relay'), node('eu:till', 'Agent')]);
    expect(tree.contexts().slice(3)).toEqual(['node/eu:us', 'mailbox/eu:us', 'cluster/eu:till', 'mailbox/eu:till']);
  });

  it('are those of the kubeconfig alone before the entry is known', () => {
    const tree = routes();
    tree.addContextsOf([node('eu', 'Relay')]);
    expect(tree.contexts()).toEqual(['node/center']);
  });
});
