/** Lists, pages, selectors and names in the fleet of a whole tree. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { WholeTree } from '../../../support/whole-tree.ts';
import { asTable, type FleetClient, pathOf, placesOf } from './fleet-client.ts';
import { agents, deployment, deployments, dotted, fleetTree } from './fleet-workload.ts';

const names = ['api', 'till', 'web'];

let tree: WholeTree;
let client: FleetClient;

const list = async (at: string, url: string) => placesOf((await client.get(at, url)).body);

beforeAll(async () => {
  ({ tree, client } = await fleetTree(deployment('web', 1, { tier: 'front' }), deployment('api', 1)));
});

describe('a list', () => {
  it('has the copy of each cluster, with its path, a uid of its own and its status, in the order of paths', async () => {
    const { body, warnings } = await client.get('', deployments);
    expect(body.kind).toBe('DeploymentList');
    expect(placesOf(body)).toEqual(dotted.flatMap((path) => names.map((name) => `${path} shop/${name}`)));
    expect(new Set(body.items.map(({ metadata }) => metadata.uid)).size).toBe(names.length * agents.length);
    for (const item of body.items) {
      expect(item).toMatchObject({ apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 1 } });
      expect(item.status).toMatchObject({ availableReplicas: 1, observedGeneration: item.metadata.generation });
      expect(item.metadata.resourceVersion).toMatch(/^\d+$/);
    }
    expect(warnings).toEqual([]);
  });

  it('has the same copies at each node, for its own subtree', async () => {
    const url = '/fleet/center.retail/apis/apps/v1/namespaces/shop/deployments?labelSelector=app%3Dtill';
    expect(await list('eu', url)).toEqual(['eu.paris.s1', 'eu.paris.s2', 'eu.s3'].map((path) => `${path} shop/till`));
    expect(await list('eu:paris', url)).toEqual(['eu.paris.s1', 'eu.paris.s2'].map((path) => `${path} shop/till`));
    expect(await list('us', url)).toEqual(['us.s4 shop/till']);
  });

  it('has a column with the cluster after the name', async () => {
    const { body } = await client.get('', `${deployments}?labelSelector=app%3Dtill`, asTable);
    expect(body.columnDefinitions.map(({ name }) => name).slice(0, 3)).toEqual(['Name', 'Cluster', 'Ready']);
    expect(body.columnDefinitions.at(-1)).toMatchObject({ name: 'Stale' });
    expect(body.rows.map(({ cells }) => cells.slice(0, 3))).toEqual(agents.map((path) => ['till', path, '1/1']));
    expect(body.rows.map(({ object }) => pathOf(object))).toEqual(dotted);
    expect(body.rows[0]!.cells).toHaveLength(body.columnDefinitions.length);
  });

  it('comes in pages of any size, and each page has what the list would have', async () => {
    const whole = await list('', deployments);
    expect(whole).toHaveLength(names.length * agents.length);
    for (const limit of [1, 2, 3, 4, 7, 15, 16]) {
      const pages: string[][] = [];
      let token = '';
      do {
        const { body } = await client.get('', `${deployments}?limit=${limit}&continue=${token}`);
        pages.push(placesOf(body));
        token = body.metadata.continue ?? '';
      } while (token !== '');
      expect(pages.flat()).toEqual(whole);
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
    }
  });

  it('is reduced by labels, fields, namespaces and paths', async () => {
    const all = (name: string) => dotted.map((path) => `${path} shop/${name}`);
    expect(await list('', `${deployments}?labelSelector=tier%3Dfront`)).toEqual(all('web'));
    expect(await list('', `${deployments}?fieldSelector=metadata.name%3Dtill`)).toEqual(all('till'));
    expect(await list('', `${deployments}?labelSelector=banyan.io/path%3Deu.s3,app%3Dtill`)).toEqual([
      'eu.s3 shop/till',
    ]);
    expect(await list('', `${deployments}?labelSelector=banyan.io/path+in+(hq,us.s4),app%3Dtill`)).toEqual([
      'hq shop/till',
      'us.s4 shop/till',
    ]);
    expect(await list('', `${deployments}?at=eu:paris&labelSelector=app%3Dtill`)).toEqual([
      'eu.paris.s1 shop/till',
      'eu.paris.s2 shop/till',
    ]);
    expect(await list('', '/fleet/retail/apis/apps/v1/namespaces/other/deployments')).toEqual([]);
  });

  it('needs no other relay for a page that the first one fills', async () => {
    tree.stop('us');
    const { body, warnings } = await client.get('', `${deployments}?limit=2&labelSelector=app%3Dtill`);
    expect(placesOf(body)).toEqual(['eu.paris.s1 shop/till', 'eu.paris.s2 shop/till']);
    expect(warnings).toEqual([]);
    tree.goOn('us');
  });
});

describe('discovery', () => {
  it('names the kinds that may go to clusters, and no kind of the mesh', async () => {
    const { body } = await client.get('', '/fleet/retail/apis');
    const groups = (body as unknown as { groups: { name: string }[] }).groups.map(({ name }) => name);
    expect(groups).toContain('apps');
    expect(groups).not.toContain('edge.banyan.io');
  });
});

describe('a copy by name', () => {
  const till = '/fleet/retail/apis/apps/v1/namespaces/shop/deployments/till';

  it('is the copy at a path', async () => {
    const { body } = await client.get('', `${till}?at=eu:paris:s2`);
    expect(pathOf(body as unknown as KubeObject)).toBe('eu.paris.s2');
    const { body: table } = await client.get('', `${till}?at=eu.s3`, asTable);
    expect(table.rows.map(({ cells }) => cells.slice(0, 2))).toEqual([['till', 'eu:s3']]);
  });

  it('is refused with the paths and a remedy if several clusters have one', async () => {
    const error = await client.refused('', till);
    expect(error.code).toBe('Conflict');
    expect(error.message).toMatch(
      /several clusters have deployments.apps "till": eu:paris:s1, eu:paris:s2, .*\?at=eu:paris:s1/,
    );
  });

  it('is not found if no cluster has one, or if nothing has the path', async () => {
    expect(await client.refused('', till.replace('till', 'nope'))).toMatchObject({ code: 'NotFound' });
    const unknown = await client.refused('', `${till}?at=eu:paris:s9`);
    expect(unknown).toMatchObject({ code: 'NotFound', message: expect.stringContaining('"eu:paris:s9"') });
    expect(await client.refused('', `${deployments}?at=eu:nope`)).toMatchObject({ code: 'NotFound' });
    expect(await client.refused('eu', '/fleet/center.retail/api/v1/pods?at=us:s4')).toMatchObject({ code: 'NotFound' });
  });
});

describe('a wrong request', () => {
  it.each([
    [
      'a continue token that is no token',
      `${deployments}?continue=xyz`,
      'BadRequest',
      /continue: Invalid value: "xyz"/,
    ],
    [
      'a token of another node',
      `${deployments}?continue=${Buffer.from(JSON.stringify({ v: 1, position: '17', path: 'eu', namespace: 'a', name: 'b' })).toString('base64url')}`,
      'Expired',
      /list again, without continue/,
    ],
    ['a path that is none', `${deployments}?at=eu::x`, 'BadRequest', /at: Invalid value: "eu::x"/],
    ['a space that is not there', '/fleet/nope/api/v1/pods', 'NotFound', /no space with placements "nope".*retail/],
    ['a kind that is not there', '/fleet/retail/apis/x.io/v1/things', 'NotFound', /could not find/],
    ['a kind of the mesh', '/fleet/retail/apis/edge.banyan.io/v1alpha1/edgeplacements', 'NotFound', /could not find/],
    ['a selector that is none', `${deployments}?labelSelector=a%3D%3D%3D`, 'BadRequest', /expected: identifier/],
    ['a limit that is none', `${deployments}?limit=x`, 'BadRequest', /limit: Invalid value/],
    ['a log', '/fleet/retail/api/v1/namespaces/shop/pods/x/log', 'NotFound', /subresource/],
  ])('is refused with words: %s', async (_, url, code, words) => {
    const error = await client.refused('', url);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(words);
  });

  it('is refused at a relay if no node above has the space', async () => {
    const url = '/api/v1/pods';
    const error = await client.refused('eu:paris', `/fleet/center.retial${url}`);
    expect(error.code).toBe('NotFound');
    expect(error.message).toMatch(/"center.retial" at eu:paris or above: did you mean "center.retail"/);
    expect(() => tree.views.get('eu')!('/spaces/center.retial')).toThrow(/no space "center.retial" at eu or above/);
  });

  it('is refused if it writes, with the place where to write', async () => {
    const error = await client.refused('eu', '/fleet/center.retail/api/v1/namespaces', { method: 'POST' });
    expect(error.code).toBe('MethodNotAllowed');
    expect(error.message).toMatch(/read-only.*context space\/center\/retail/);
  });
});
