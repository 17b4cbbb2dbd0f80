/** All copies at once: stock kubectl on the fleet of a tree of three levels, and a client that keeps what it was told while parts of the tree are away. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';
import { FleetWatcher, shownBy } from './fleet-watcher.ts';
import { LocalTree, until, untilAnswered } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const fleet = 'fleet/center/retail';
const paths = ['eu:paris:s1', 'eu:paris:s2', 'eu:paris:s3', 'eu:s4', 'hq', 'us:s5', 'us:s6'];

const deployment = (name: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'shop', labels: { app: name } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'shop/till:1' }] } },
  },
});

const workload = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    deployment('till', 1),
    {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: {
        locationSelectors: [{ matchLabels: { env: 'prod' } }],
        downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
        associated: [{ apiGroup: '', resources: ['pods'] }],
      },
    },
  ],
};

/** The cells of a printed table, without the header. */
function rowsOf(out: string): string[][] {
  return out
    .split('\n')
    .filter((line) => line !== '' && !/^(NAMESPACE|NAME|Warning:)/.test(line))
    .map((line) => line.split(/\s+/));
}

describe.skipIf(withoutKubectl)(`the fleet of a space${why}`, () => {
  const tree = new LocalTree('test/e2e/fleet-topology.yaml');
  const get = (context: string, ...args: string[]) => tree.kubectl(context, ['get', ...args]);
  const clustersIn = (out: string) => rowsOf(out).map(([, , cluster]) => cluster);

  beforeAll(async () => {
    await tree.up();
    expect(tree.apply(space, workload).code).toBe(0);
    tree.ok(space, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=60s');
    await until('all statuses are there', () => {
      const { out } = get(fleet, 'deploy', '-A');
      return rowsOf(out).filter(([, , , ready]) => ready === '1/1').length === paths.length;
    });
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('lists each copy with its cluster, at the center and for each subtree', () => {
    const { stdout } = get(fleet, 'deploy', '-A');
    expect(stdout.split('\n')[0]).toMatch(/^NAMESPACE +NAME +CLUSTER +READY +UP-TO-DATE +AVAILABLE +AGE +STALE/);
    expect(clustersIn(stdout)).toEqual(paths);
    const eu = get('fleet/eu/center.retail', 'deploy', '-A').stdout;
    expect(clustersIn(eu)).toEqual(paths.filter((path) => path.startsWith('eu:')));
    expect(clustersIn(get('fleet/us/center.retail', 'deploy', '-n', 'shop', '-A').stdout)).toEqual(['us:s5', 'us:s6']);
  });

  it('works with selectors, wide output, JSON in chunks, and names', () => {
    const pods = get(fleet, 'pods', '-A', '-l', 'app=till').stdout;
    expect(clustersIn(pods)).toEqual(paths);
    expect(rowsOf(pods).every(([, , , ready, status]) => ready === '1/1' && status === 'Running')).toBe(true);
    const wide = get(fleet, 'pods', '-A', '-o', 'wide').stdout;
    expect(wide.split('\n')[0]).toMatch(/CLUSTER.*IP +NODE/);
    const chunks = get(fleet, 'deploy', '-A', '-o', 'json', '--chunk-size=2').stdout;
    const { items } = JSON.parse(chunks) as { items: { metadata: { uid: string; labels: Record<string, string> } }[] };
    expect(items.map(({ metadata }) => metadata.labels['banyan.io/path'])).toEqual(
      paths.map((path) => path.replaceAll(':', '.')),
    );
    expect(new Set(items.map(({ metadata }) => metadata.uid)).size).toBe(paths.length);
    const one = get(fleet, 'deploy', '-n', 'shop', '-l', 'banyan.io/path=us.s5', '-o', 'name').stdout;
    expect(one.trim()).toBe('deployment.apps/till');
    const raw = tree.kubectl(fleet, [
      'get',
      '--raw',
      '/fleet/retail/apis/apps/v1/namespaces/shop/deployments/till?at=us:s6',
    ]);
    expect(JSON.parse(raw.stdout).metadata.labels['banyan.io/path']).toBe('us.s6');
    const described = tree.kubectl(fleet, ['describe', 'pods', '-n', 'shop', '-l', 'banyan.io/path=hq']);
    expect(described.out).toMatch(/banyan.io\/path=hq/);
  });

  it.each<[string, string[], RegExp]>([
    [
      'a name that several clusters have',
      ['get', 'deploy', 'till', '-n', 'shop'],
      /Conflict\): several clusters have .*\?at=eu:paris:s1/,
    ],
    [
      'an unknown path',
      ['get', '--raw', '/fleet/retail/apis/apps/v1/deployments?at=eu:nope'],
      /NotFound\): at: there is no node "eu:nope" below eu/,
    ],
    [
      'an old continue token',
      [
        'get',
        '--raw',
        `/fleet/retail/apis/apps/v1/deployments?continue=${Buffer.from('{"v":1,"position":"1","path":"eu","namespace":"a","name":"b"}').toString('base64url')}`,
      ],
      /Expired\): .*list again, without continue/,
    ],
    [
      'a token that is none',
      ['get', '--raw', '/fleet/retail/apis/apps/v1/deployments?continue=nonsense'],
      /BadRequest\): continue: Invalid value: "nonsense"/,
    ],
    ['a write', ['create', 'namespace', 'x'], /MethodNotAllowed\).*read-only.*context space\/center\/retail/],
    [
      'an unknown space',
      ['get', '--raw', '/fleet/nope/api/v1/pods'],
      /NotFound\): there is no space with placements "nope".*retail/,
    ],
    ['an agent', ['get', '--raw', '/tree/hq/fleet/retail/api/v1/pods'], /NotFound\).*ask the parent of this agent/],
  ])('refuses with words: %s', (_, args, words) => {
    const { code, out } = tree.kubectl(fleet, args);
    expect(code).not.toBe(0);
    expect(out).toMatch(words);
  });

  it.each([
    [
      '/fleet/retial',
      'center',
      /Forbidden\): .*no space with placements "retial" at the center: did you mean "retail"/,
    ],
    ['/fleet/center.retial', 'eu', /"center.retial" at eu or above: did you mean "center.retail"/],
    [
      '/spaces/center.retial',
      'eu:paris',
      /no space "center.retial" at eu:paris or above: did you mean "center.retail"/,
    ],
  ])('says to kubectl that no space has the name of the URL %s at %s', (url, node, words) => {
    const { code, out } = tree.kubectlAt(node, url, ['get', 'pods', '-A']);
    expect(code).not.toBe(0);
    expect(out).toMatch(words);
  });

  it('refuses at a relay, too, what is not below it', () => {
    const at = (path: string) =>
      tree.kubectlAt('eu', '', ['get', '--raw', `/fleet/center.retail/apis/apps/v1/deployments?at=${path}`]).out;
    expect(at('eu:nope')).toMatch(/NotFound\): at: there is no node "eu:nope" below eu/);
    expect(at('us:s5')).toMatch(/NotFound\): at: "us:s5" is not below eu: ask the center/);
  });

  it('shows changes to kubectl get -w', async () => {
    const watched: string[] = [];
    const args = ['--kubeconfig', join(tree.data, 'kubeconfig'), '--context', fleet, 'get', 'deploy', '-A', '-w'];
    const kubectl: ChildProcess = spawn(kubectlProgram, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    kubectl.stdout!.on('data', (chunk: Buffer) => watched.push(chunk.toString()));
    try {
      await until('the list', () => rowsOf(watched.join('')).length >= paths.length);
      expect(tree.apply(space, deployment('web', 1)).code).toBe(0);
      await until('the new object at all clusters', () => {
        const web = rowsOf(watched.join('')).filter(([, name, , ready]) => name === 'web' && ready === '1/1');
        return new Set(web.map(([, , cluster]) => cluster)).size === paths.length;
      });
      tree.ok(space, 'delete', 'deploy', 'web', '-n', 'shop');
      await until('it is gone', () => clustersIn(get(fleet, 'deploy', '-A').stdout).length === paths.length);
    } finally {
      kubectl.kill();
    }
  });

  it('names a region that is cut off, shows the rest, and has all of it again when the region is back', async () => {
    const region = tree.pid('us');
    process.kill(region, 'SIGSTOP');
    try {
      const { code, out, stdout } = get(fleet, 'pods', '-A', '-l', 'app=till');
      expect(code).toBe(0);
      expect(clustersIn(stdout)).toEqual(paths.filter((path) => !path.startsWith('us:')));
      expect(out).toMatch(/Warning: us is missing here with 3 clusters: no answer within 5 s/);
      const startMs = performance.now();
      get(fleet, 'pods', '-A');
      expect(performance.now() - startMs).toBeLessThan(5_000);
    } finally {
      process.kill(region, 'SIGCONT');
    }
    await until(
      'the region is back',
      () => clustersIn(get(fleet, 'pods', '-A', '-l', 'app=till').stdout).length === paths.length,
    );
  });

  it('misses nothing in a client that keeps what it was told, while objects change and relays die', async () => {
    await using watcher = new FleetWatcher(join(tree.data, 'kubeconfig'), fleet, '/apis/apps/v1/deployments');
    await untilAnswered('the first list', async () => watcher.objects.size === paths.length);
    for (const [round, dies] of ['', 'us', '', 'eu:paris', '', 'eu'].entries()) {
      expect(tree.apply(space, deployment('till', 1 + (round % 3))).code).toBe(0);
      expect(tree.apply(space, deployment(`web-${round % 2}`, 1)).code).toBe(0);
      if (dies !== '') tree.kill(dies);
      await new Promise((done) => setTimeout(done, 1_500));
      if (round % 2 === 1) tree.ok(space, 'delete', 'deploy', `web-${round % 2}`, '-n', 'shop');
    }
    tree.ok(space, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=90s');
    await untilAnswered(
      'the client has what the fleet has',
      async () => {
        if (watcher.failure) throw watcher.failure;
        const now = await watcher.list();
        const isWhole = now?.objects.length === 2 * paths.length;
        return isWhole && JSON.stringify(shownBy(watcher.objects.values())) === JSON.stringify(shownBy(now.objects));
      },
      120,
    );
    expect(watcher.failure).toBeUndefined();
    expect(watcher.events).toBeGreaterThan(paths.length);
    expect(watcher.lists).toBeGreaterThan(1);
    // Longer than the two waits above: their messages say what is missing.
  }, 300_000);
});
