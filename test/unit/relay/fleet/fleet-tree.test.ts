/** The fleet of a whole tree: lists, pages, selectors, names, watches, and places that are away. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { WholeTree } from '../../../support/whole-tree.ts';
import { asTable, FleetClient, pathOf, placesOf } from './fleet-client.ts';

const agents = ['eu:paris:s1', 'eu:paris:s2', 'eu:s3', 'hq', 'us:s4'];
const dotted = agents.map((path) => path.replaceAll(':', '.'));
const deployments = '/fleet/retail/apis/apps/v1/deployments';

function placed(name = 'till', replicas = 1): KubeObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    deployment(name, replicas),
    {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: {
        locationSelectors: [{ matchLabels: { env: 'prod' } }],
        downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
      },
    },
  ];
}

function deployment(name: string, replicas: number, labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop', labels: { app: name, ...labels } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'c', image: 'shop/till:1' }] },
      },
    },
  };
}

let tree: WholeTree;
let client: FleetClient;

const list = async (at: string, url: string) => placesOf((await client.get(at, url)).body);
const available = async () => {
  const { body } = await client.get('', deployments);
  return body.items.filter(({ status }) => (status as { availableReplicas?: number })?.availableReplicas === 1).length;
};

beforeEach(async () => {
  tree = await new WholeTree({ relays: ['', 'eu', 'eu:paris', 'us'], agents }).start();
  client = new FleetClient(tree);
  tree.apply('', 'retail', ...placed());
  for (let i = 0; i < 100 && (await available()) < agents.length; i++) await tree.run(100);
});

describe('a list', () => {
  it('has the copy of each cluster, with its path, a uid of its own and its status, in the order of paths', async () => {
    const { body, warnings } = await client.get('', deployments);
    expect(body.kind).toBe('DeploymentList');
    expect(placesOf(body)).toEqual(dotted.map((path) => `${path} shop/till`));
    expect(new Set(body.items.map(({ metadata }) => metadata.uid)).size).toBe(agents.length);
    for (const item of body.items) {
      expect(item).toMatchObject({ apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 1 } });
      expect(item.status).toMatchObject({ availableReplicas: 1, observedGeneration: item.metadata.generation });
      expect(item.metadata.resourceVersion).toMatch(/^\d+$/);
    }
    expect(warnings).toEqual([]);
  });

  it('has the same copies at each node, for its own subtree', async () => {
    const url = '/fleet/center.retail/apis/apps/v1/namespaces/shop/deployments';
    expect(await list('eu', url)).toEqual(['eu.paris.s1', 'eu.paris.s2', 'eu.s3'].map((path) => `${path} shop/till`));
    expect(await list('eu:paris', url)).toEqual(['eu.paris.s1', 'eu.paris.s2'].map((path) => `${path} shop/till`));
    expect(await list('us', url)).toEqual(['us.s4 shop/till']);
  });

  it('has a column with the cluster after the name', async () => {
    const { body } = await client.get('', deployments, asTable);
    expect(body.columnDefinitions.map(({ name }) => name).slice(0, 3)).toEqual(['Name', 'Cluster', 'Ready']);
    expect(body.columnDefinitions.at(-1)).toMatchObject({ name: 'Stale' });
    expect(body.rows.map(({ cells }) => cells.slice(0, 3))).toEqual(agents.map((path) => ['till', path, '1/1']));
    expect(body.rows.map(({ object }) => pathOf(object))).toEqual(dotted);
    expect(body.rows[0]!.cells).toHaveLength(body.columnDefinitions.length);
  });

  it('comes in pages of any size, and each page has what the list would have', async () => {
    tree.apply('', 'retail', deployment('web', 1), deployment('api', 1));
    await tree.run(3_000);
    const whole = await list('', deployments);
    expect(whole).toHaveLength(3 * agents.length);
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
    tree.apply('', 'retail', deployment('web', 1, { tier: 'front' }));
    await tree.run(3_000);
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
    const { body, warnings } = await client.get('', `${deployments}?limit=2`);
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
    ['a space that is not there', '/fleet/nope/api/v1/pods', 'NotFound', /no space "nope".*retail/],
    ['a kind that is not there', '/fleet/retail/apis/x.io/v1/things', 'NotFound', /could not find/],
    ['a kind of the mesh', '/fleet/retail/apis/edge.banyan.io/v1alpha1/edgeplacements', 'NotFound', /could not find/],
    ['a selector that is none', `${deployments}?labelSelector=a%3D%3D%3D`, 'BadRequest', /label selector/],
    ['a limit that is none', `${deployments}?limit=x`, 'BadRequest', /limit: Invalid value/],
    ['a log', '/fleet/retail/api/v1/namespaces/shop/pods/x/log', 'NotFound', /subresource/],
  ])('is refused with words: %s', async (_, url, code, words) => {
    const error = await client.refused('', url);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(words);
  });

  it('is refused if it writes, with the place where to write', async () => {
    const error = await client.refused('eu', '/fleet/center.retail/api/v1/namespaces', { method: 'POST' });
    expect(error.code).toBe('MethodNotAllowed');
    expect(error.message).toMatch(/read-only.*context space\/center\/retail/);
  });
});

describe('places that are away', () => {
  it('are named in warnings while the rest of the list comes', async () => {
    tree.cut('us', '');
    await tree.run(90_000);
    const { body, warnings } = await client.get('', deployments);
    expect(placesOf(body)).toEqual(dotted.slice(0, 4).map((path) => `${path} shop/till`));
    expect(warnings.join()).toMatch(/us is missing here with 1 cluster: it is not connected, for \d+s/);
    tree.mend('us', '');
    await tree.run(60_000);
    const again = await client.get('', deployments);
    expect([placesOf(again.body).length, again.warnings]).toEqual([agents.length, []]);
  });

  it('are named by the center, too, if they are deeper', async () => {
    tree.cut('eu:paris', 'eu');
    await tree.run(90_000);
    const { body, warnings } = await client.get('', `${deployments}?limit=10`);
    expect(placesOf(body)).toEqual(dotted.slice(2).map((path) => `${path} shop/till`));
    expect(warnings.join()).toMatch(/eu:paris is missing here with 2 clusters: it is not connected/);
  });

  it('do not hold up the list for long if they hang', async () => {
    tree.stop('us');
    const { body, warnings } = await client.get('', deployments);
    expect(body.items).toHaveLength(4);
    expect(warnings.join()).toMatch(/us is missing here with 1 cluster: /);
    const began = tree.clock.monotonicMs();
    await client.get('', deployments);
    expect(tree.clock.monotonicMs() - began).toBeLessThan(1_000);
    tree.goOn('us');
  });

  it('are shown as last reported if they are clusters of this node, with the time', async () => {
    tree.cut('hq', '');
    await tree.run(90_000);
    const { body, warnings } = await client.get('', deployments, asTable);
    expect(body.rows.map(({ cells }) => [cells[1], cells.at(-1)])).toEqual(
      agents.map((path) => [path, path === 'hq' ? expect.stringMatching(/^\d+s$/) : '']),
    );
    expect(warnings.join()).toMatch(/not connected, shown as last reported: hq/);
    const { body: objects } = await client.get('', `${deployments}?at=hq`);
    expect(objects.items[0]!.metadata.annotations?.['banyan.io/stale']).toMatch(/^\d{4}-.*Z$/);
  });
});

describe('a watch', () => {
  it('begins with all copies, and goes on with changes at all levels', async () => {
    const watched = client.watch('', deployments);
    await tree.run(1_000);
    expect(watched.lines.sort()).toEqual(dotted.map((path) => `ADDED ${path} till`));
    watched.events.length = 0;
    tree.apply('', 'retail', deployment('web', 1));
    await tree.run(2_000);
    for (const path of dotted) expect(watched.lines).toContain(`ADDED ${path} web`);
    watched.events.length = 0;
    tree.space('', 'retail').delete({ group: 'apps', resource: 'deployments', namespace: 'shop', name: 'web' });
    await tree.run(2_000);
    for (const path of dotted) expect(watched.lines).toContain(`DELETED ${path} web`);
    const { metadata } = watched.events.find(({ type }) => type === 'DELETED')!.object;
    expect(metadata).toMatchObject({ name: 'web', namespace: 'shop', uid: expect.stringMatching(/-8/) });
    watched.end();
    await tree.run(100);
    expect(watched.isEnded).toBe(true);
  });

  it('from a list has all later changes, and none of the copies of the list', async () => {
    const { body } = await client.get('', deployments);
    tree.apply('', 'retail', deployment('web', 1));
    await tree.run(2_000);
    const watched = client.watch('', `${deployments}?resourceVersion=${body.metadata.resourceVersion}`);
    await tree.run(1_000);
    expect(new Set(watched.lines)).toEqual(new Set(dotted.map((path) => `ADDED ${path} web`)));
    watched.end();
  });

  it('goes on from any of its events', async () => {
    const first = client.watch('', deployments);
    await tree.run(1_000);
    const last = first.events.at(-1)!.object.metadata.resourceVersion;
    first.end();
    tree.apply('', 'retail', deployment('web', 1));
    await tree.run(2_000);
    const second = client.watch('', `${deployments}?resourceVersion=${last}`);
    await tree.run(1_000);
    for (const path of dotted) expect(second.lines).toContain(`ADDED ${path} web`);
    expect(second.lines.filter((line) => line.endsWith('till') && line.startsWith('ADDED')).length).toBeLessThan(
      agents.length,
    );
    second.end();
  });

  it('reports a copy that leaves the selection as deleted', async () => {
    tree.apply('', 'retail', deployment('web', 1, { tier: 'front' }));
    await tree.run(2_000);
    const watched = client.watch('', `${deployments}?labelSelector=tier%3Dfront`);
    await tree.run(1_000);
    expect(new Set(watched.lines)).toEqual(new Set(dotted.map((path) => `ADDED ${path} web`)));
    watched.events.length = 0;
    tree.apply('', 'retail', deployment('web', 1, { tier: 'back' }));
    await tree.run(2_000);
    expect(new Set(watched.lines)).toEqual(new Set(dotted.map((path) => `DELETED ${path} web`)));
    watched.end();
  });

  it('sends the changes of a region that was away when the region is back', async () => {
    const watched = client.watch('', `${deployments}?allowWatchBookmarks=true`);
    await tree.run(1_000);
    watched.events.length = 0;
    tree.cut('us', '');
    await tree.run(30_000);
    tree.apply('', 'retail', deployment('web', 1));
    await tree.run(5_000);
    expect(watched.lines.some((line) => line === 'ADDED us.s4 web')).toBe(false);
    tree.mend('us', '');
    await tree.until('the change of the region', () => watched.lines.includes('ADDED us.s4 web'));
    expect(watched.isEnded).toBe(false);
    watched.end();
  });

  it('ends with 410 if a relay has forgotten what the client has, and a new list has everything', async () => {
    const watched = client.watch('', deployments);
    await tree.run(1_000);
    tree.kill('us');
    await tree.run(1_000);
    await tree.start('us');
    await tree.until('the end', () => watched.isEnded);
    expect(watched.lines.at(-1)).toBe('ERROR 410');
    const { body } = await client.get('', deployments);
    expect(body.items.length).toBeGreaterThanOrEqual(agents.length - 1);
  });

  it('is refused with 410 from a version that the node does not know', async () => {
    const error = await client.refused('', `${deployments}?watch=true&resourceVersion=17`);
    expect(error.code).toBe('Expired');
  });

  it('tells when all present copies were sent, and has the warnings of a list', async () => {
    tree.cut('us', '');
    await tree.run(90_000);
    const url = `${deployments}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
    const watched = client.watch('', url);
    await tree.run(2_000);
    expect(watched.events.at(-1)).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
    expect(watched.lines).toHaveLength(4);
    expect(watched.warnings.join()).toMatch(/us is missing here/);
    watched.end();
  });
});
