import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { treeContexts } from '../../../../center/cli/tree-kubeconfig.ts';
import type { Kubeconfig } from '../../../../core/kubeconfig/kubeconfig.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';

const mesh = '/apis/mesh.banyan.io/v1alpha1';
const object = (kind: string, name: string, spec: object): KubeObject => ({
  apiVersion: 'mesh.banyan.io/v1alpha1',
  kind,
  metadata: { name },
  spec: spec as KubeObject['spec'] & object,
});
const node = (path: string, role: string) => object('Node', path, { path, role });
const space = (name: string, type: string) => object('Space', name, { type });

const lists: Readonly<Record<string, readonly KubeObject[]>> = {
  [`node/center ${mesh}/nodes`]: [
    node('', 'Center'),
    node('eu', 'Relay'),
    node('eu:paris', 'Relay'),
    node('hq', 'Agent'),
  ],
  [`node/center ${mesh}/spaces`]: [space('retail', 'Workload'), space('places', 'Inventory')],
  [`node/eu ${mesh}/nodes`]: [node('eu', 'Relay'), node('eu:till', 'Agent'), node('eu:paris', 'Relay')],
  [`node/eu:paris ${mesh}/nodes`]: [node('eu:paris', 'Relay')],
};

const tree = {
  file: '/k',
  current: 'prod',
  config: {
    'current-context': 'prod',
    contexts: [{ name: 'prod', context: { cluster: 'c', user: 'me' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://a:1/spaces/retail', 'certificate-authority-data': 'Y2E=' } }],
    users: [
      { name: 'me', user: { token: 't' } },
      { name: 'other', user: { token: 'secret' } },
    ],
  },
};

async function written(question: object = {}, refused: readonly string[] = [], advertised?: string) {
  const warned: string[] = [];
  const api = {
    contexts: () => ['prod', 'node/center', 'node/eu', 'node/eu:paris', 'mailbox/eu'],
    currentContext: () => 'space/center/retail',
    get: async (context: string) => {
      if (refused.includes(context)) throw new BanyanError('Forbidden', 'no right');
      return { ...node('', 'Center'), status: advertised ? { advertised: { api: advertised } } : {} };
    },
    list: async (context: string, path: string) => {
      if (refused.includes(context)) throw new BanyanError('Forbidden', 'no right');
      return [...(lists[`${context} ${path}`] ?? [])];
    },
  };
  const entry = { url: 'https://a:1', path: '' };
  const asked = { at: '', spaces: false, ...question };
  const text = await treeContexts(api, { entry, tree }, asked, (line) => warned.push(line));
  const config = parse(text) as Kubeconfig;
  const urls = Object.fromEntries(config.clusters.map(({ name, cluster }) => [name, cluster.server]));
  return { config, urls, warned };
}

describe('banyan kubeconfig', () => {
  it('writes a context for each node, space, fleet, cluster and mailbox, through the node in use', async () => {
    const { config, urls, warned } = await written();
    expect(urls).toMatchObject({
      'node/center': 'https://a:1',
      'node/eu:paris': 'https://a:1/tree/eu%3Aparis',
      'space/center/retail': 'https://a:1/spaces/retail',
      'space/center/places': 'https://a:1/spaces/places',
      'space/eu/center.retail': 'https://a:1/tree/eu/spaces/center.retail',
      'fleet/center/retail': 'https://a:1/fleet/retail',
      'cluster/hq': 'https://a:1/tree/hq/cluster',
      'cluster/eu:till': 'https://a:1/tree/eu%3Atill/cluster',
      'mailbox/eu:till': 'https://a:1/tree/eu/mailboxes/till',
      'mailbox/eu': 'https://a:1/mailboxes/eu',
    });
    expect(urls).not.toHaveProperty('fleet/center/places');
    expect(config['current-context']).toBe('space/center/retail');
    expect(warned).toEqual([]);
  });

  it('has only the user of the context in use, and its authority', async () => {
    const { config } = await written();
    expect(config.users).toEqual([{ name: 'me', user: { token: 't' } }]);
    expect(config.clusters.every(({ cluster }) => cluster['certificate-authority-data'] === 'Y2E=')).toBe(true);
    expect(config.contexts.every(({ name, context }) => context.user === 'me' && context.cluster === name)).toBe(true);
  });

  it('has only what lies at and below a node, also with the views of spaces from above, and another URL', async () => {
    const { urls } = await written({ at: 'eu:paris', spaces: true, server: 'https://b' });
    expect(urls).toEqual({
      'node/eu:paris': 'https://b/tree/eu%3Aparis',
      'space/eu:paris/center.retail': 'https://b/tree/eu%3Aparis/spaces/center.retail',
      'space/eu:paris/center.places': 'https://b/tree/eu%3Aparis/spaces/center.places',
      'fleet/eu:paris/center.retail': 'https://b/tree/eu%3Aparis/fleet/center.retail',
    });
  });

  it('leads to the address that the node advertises, unless a person gives another one', async () => {
    const { urls } = await written({}, [], 'center.example.com:443');
    expect(urls).toMatchObject({
      'node/center': 'https://center.example.com:443',
      'space/center/retail': 'https://center.example.com:443/spaces/retail',
    });
    const given = await written({ server: 'https://b' }, [], 'center.example.com:443');
    expect(given.urls['node/center']).toBe('https://b');
  });

  it('leaves out what a node refuses to show, with a warning, and keeps the space in use', async () => {
    const { urls, warned } = await written({}, ['node/center', 'node/eu']);
    expect(Object.keys(urls)).toEqual(expect.arrayContaining(['space/center/retail', 'node/eu']));
    expect(urls).not.toHaveProperty('cluster/eu:till');
    expect(warned.sort()).toEqual([
      'node/center: its nodes are left out: no right',
      'node/center: its spaces are left out: no right',
      'node/eu: its nodes are left out: no right',
      'node/eu: its spaces are left out: no right',
    ]);
  });

  it('refuses a node that is not there, with the most similar one', async () => {
    await expect(written({ at: 'eu:pari' })).rejects.toThrow(
      '--at: there is no node "eu:pari": did you mean "eu:paris"?',
    );
  });
});
