import { describe, expect, it } from 'vitest';
import { advertisedBy, redirected, redirectTo } from '../../../../center/cli/advertised.ts';

const kubeconfig = (servers: Readonly<Record<string, string>>, current: string) => ({
  file: '/k',
  current,
  config: {
    'current-context': current,
    contexts: Object.keys(servers).map((name) => ({ name, context: { cluster: name, user: 'me' } })),
    clusters: Object.entries(servers).map(([name, server]) => ({ name, cluster: { server } })),
    users: [],
  },
});

describe('the address that a node advertises', () => {
  it.each([
    ['node/center', 'center'],
    ['node/eu:paris', 'eu.paris'],
    ['node/eu:paris~1', 'eu.paris'],
  ])('stands in the Node object of %s, at the node itself', async (context, name) => {
    const asked: string[][] = [];
    const get = async (...at: string[]) => {
      asked.push(at);
      return {
        apiVersion: 'mesh.banyan.io/v1alpha1',
        kind: 'Node',
        metadata: {},
        status: { advertised: { api: 'a:1' } },
      };
    };
    expect(await advertisedBy({ get }, context)).toEqual({ api: 'a:1' });
    expect(asked).toEqual([[context, `/apis/mesh.banyan.io/v1alpha1/nodes/${name}`]]);
    expect(await advertisedBy({ get: async () => undefined }, context)).toEqual({});
  });

  it('replaces only the URLs of this node', () => {
    const servers = {
      'node/center': 'https://127.0.0.1:6443',
      'space/center/retail': 'https://127.0.0.1:6443/spaces/retail',
      'node/eu': 'https://127.0.0.1:7000',
    };
    const redirect = redirectTo({ api: 'center.example.com:443' }, kubeconfig(servers, 'node/eu'), 'node/center');
    expect(Object.values(servers).map((server) => redirected(server, redirect))).toEqual([
      'https://center.example.com:443',
      'https://center.example.com:443/spaces/retail',
      'https://127.0.0.1:7000',
    ]);
    expect(redirectTo({}, kubeconfig(servers, 'node/eu'), 'node/center')).toBeUndefined();
  });

  it('counts for the context in use if the kubeconfig has no context of the node', () => {
    const tree = kubeconfig({ mine: 'https://10.0.0.1:6443/tree/eu/spaces/ops' }, 'mine');
    const redirect = redirectTo({ api: '[fd00::1]:6443' }, tree, 'node/center');
    expect(redirected(tree.config.clusters[0]!.cluster.server, redirect)).toBe(
      'https://[fd00::1]:6443/tree/eu/spaces/ops',
    );
  });

  it('gives way to the URL of a person, for every node', () => {
    const servers = ['https://127.0.0.1:6443', 'https://127.0.0.1:7000/spaces/ops'];
    expect(servers.map((server) => redirected(server, { to: 'https://lb.example.com' }))).toEqual([
      'https://lb.example.com',
      'https://lb.example.com/spaces/ops',
    ]);
  });
});
