import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, LocalTree, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const center = 'space/center/retail';
const till = 'registry.example.com/shop/till:1.0';
const signage = 'registry.example.com/shop/signage:2.3';

interface Summary {
  columns: { name: string; type: string }[];
  rows: { columns: unknown[] }[];
  total: number;
  rowErrors: { count: number; sample: { path: string; message: string }[] };
  completeness: { expected: number; fresh: number; stale: number; never: number; outdated: number; display: string };
}

describe.skipIf(withoutKubectl)(`summaries that users define${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const summary = (context: string, name: string) => tree.json<Summary>(context, 'ss', name);
  const rows = (context: string, name: string) => summary(context, name)?.rows.map(({ columns }) => columns) ?? [];
  const shows = (context: string, name: string, expected: unknown[]) =>
    JSON.stringify(rows(context, name)) === JSON.stringify(expected);

  beforeAll(async () => {
    await tree.up();
    tree.ok(center, 'apply', '-f', fixture('docs/examples/summarizers.yaml'));
    tree.ok(center, 'wait', 'epl/shop', '--for=condition=Ready', '--timeout=60s');
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('count the replicas of each image per region: at the center, in each region, in the sub-regions', async () => {
    await until('the center has all', () =>
      shows(center, 'shop.images', [
        ['eu', signage, 3, 3],
        ['eu', till, 3, 6],
        ['none', signage, 1, 1],
        ['none', till, 1, 2],
        ['us', signage, 1, 1],
        ['us', till, 1, 2],
      ]),
    );
    const complete = (context: string) => summary(context, 'shop.images')?.completeness.display;
    await until('it is complete', () => complete(center) === '5/5 fresh');
    expect(summary(center, 'shop.images')).toMatchObject({
      total: 10,
      rowErrors: { count: 0 },
      completeness: { expected: 5, fresh: 5, stale: 0, never: 0, outdated: 0, display: '5/5 fresh' },
    });
    for (const [context, shops] of [
      ['space/eu/center.retail', 3],
      ['space/eu:paris/center.retail', 2],
      ['space/eu:berlin/center.retail', 1],
    ] as const) {
      await until(`${context} has its own`, () =>
        shows(context, 'shop.images', [
          ['eu', signage, shops, shops],
          ['eu', till, shops, 2 * shops],
        ]),
      );
    }
    for (const [region, display] of [['us', '1/1 fresh'] as const, ['eu', '3/3 fresh'] as const])
      await until(`${region} is complete`, () => complete(`space/${region}/center.retail`) === display);
  });

  it('read well in kubectl', () => {
    const table = tree.ok(center, 'get', 'ss', '-o', 'wide');
    expect(table).toMatch(/NAME +ROWS +OF +ERRORS +OBSERVED +COLUMNS/);
    expect(table).toMatch(/shop\.images +10 +5\/5 fresh +0 /);
    expect(tree.ok('space/eu/center.retail', 'get', 'ss')).toMatch(/shop\.images +6 +3\/3 fresh +0 /);
    expect(tree.ok(center, 'get', 'ssz')).toMatch(/ready-time/);
  });

  it('report the 99th percentile of the time that shops take to be ready', async () => {
    await until('all have a value', () => rows(center, 'shop.ready-time')[0]?.[0] === 10);
    const seconds = tree
      .ok('space/center/retail', 'get', 'ss', 'shop.ready-time', '-o', 'jsonpath={.rows[0].columns[1]}')
      .trim();
    const times = ['eu:paris:rivoli', 'eu:paris:bastille', 'eu:berlin:mitte', 'us:market', 'hq'].flatMap((cluster) =>
      tree
        .json<{ items: { status: { conditions: { type: string; lastTransitionTime: string }[] } }[] }>(
          `mailbox/${cluster}`,
          'deployments',
          '-n',
          'shop',
        )!
        .items.map(({ status: { conditions } }) => {
          const at = (type: string) => Date.parse(conditions.find((one) => one.type === type)!.lastTransitionTime);
          return (at('Available') - at('Progressing')) / 1000;
        })
        .sort((a, b) => a - b),
    );
    const exact = times.sort((a, b) => a - b)[Math.floor(0.99 * (times.length - 1))]!;
    expect(times).toHaveLength(10);
    expect(Math.abs(Number(seconds) - exact)).toBeLessThanOrEqual(exact * 0.01);
  });

  it('list the failing shops with their reason, and drop them when they recover', async () => {
    const image = (name: string) => ['set', 'image', 'deployment/signage', `signage=${name}`, '-n', 'shop'];
    tree.ok(center, ...image('registry.example.com/shop/signage:broken'));
    await until('all five are listed', () => rows(center, 'shop.failing').length === 5);
    expect(rows(center, 'shop.failing')[0]!.slice(0, 3)).toEqual([
      'eu:berlin:mitte',
      'signage',
      'ProgressDeadlineExceeded',
    ]);
    expect(rows('space/eu:paris/center.retail', 'shop.failing').map(([shop]) => shop)).toEqual([
      'eu:paris:bastille',
      'eu:paris:rivoli',
    ]);
    tree.ok(center, ...image(signage));
    await until('none is listed', () => summary(center, 'shop.failing')?.total === 0);
    expect(rows(center, 'shop.failing')).toEqual([]);
  });

  it('follow shops that come and go, at every level', async () => {
    const counted = (context: string) =>
      rows(context, 'shop.images').find(([region, image]) => region === 'eu' && image === till)?.[2];
    tree.ok('node/eu:berlin', 'label', 'location', 'lab', 'env=prod', '--overwrite');
    await until('the lab is counted', () => counted(center) === 4 && counted('space/eu:berlin/center.retail') === 2);
    tree.ok('node/eu:berlin', 'label', 'location', 'lab', 'env=test', '--overwrite');
    await until('and is not', () => counted(center) === 3 && counted('space/eu:berlin/center.retail') === 1);
  });

  it('keep the last rows of an absent shop, and report this', async () => {
    process.kill(tree.pid('us'), 'SIGSTOP');
    tree.kill('center');
    try {
      await until('it is stale', () => summary(center, 'shop.images')?.completeness.stale === 1);
      expect(rows(center, 'shop.images').find(([region, image]) => region === 'us' && image === till)).toEqual([
        'us',
        till,
        1,
        2,
      ]);
      expect(summary(center, 'shop.images')?.completeness.display).toMatch(/^4\/5 fresh \(1 stale, oldest \d+[sm]\)$/);
    } finally {
      process.kill(tree.pid('us'), 'SIGCONT');
    }
    await until('it is fresh', () => summary(center, 'shop.images')?.completeness.display === '5/5 fresh');
    expect(rows(center, 'shop.images')).toHaveLength(6);
  });

  it('are computed again when the summarizer changes, and report on the placement when there is none', async () => {
    const patch = JSON.stringify({ spec: { filter: 'obj.metadata.name == "till"' } });
    tree.ok(center, 'patch', 'ssz', 'images', '--type=merge', '-p', patch);
    await until('only tills are counted', () => summary(center, 'shop.images')?.total === 5);
    await until('nothing is left out', () => summary(center, 'shop.images')?.completeness.outdated === 0);
    tree.ok(center, 'delete', 'ssz', 'images');
    await until('there is no summary', () => summary(center, 'shop.images') === undefined);
    await until('nor in the regions', () => summary('space/eu:paris/center.retail', 'shop.images') === undefined);
    const condition = () =>
      tree.ok(center, 'get', 'epl', 'shop', '-o', 'jsonpath={.status.conditions[?(@.type=="SummarizersResolved")]}');
    await until('the placement says so', () =>
      condition().includes('StatusSummarizer \\"images\\" does not exist in this space'),
    );
    tree.ok(center, 'apply', '-f', fixture('docs/examples/summarizers.yaml'));
    await until('it is back', () => summary(center, 'shop.images')?.total === 10);
    await until('and said so', () => condition().includes('"status":"True"'));
  });

  it('go with their placement', async () => {
    tree.ok(center, 'delete', 'epl', 'shop');
    await until('no summary is left', () => tree.ok(center, 'get', 'ss', '-o', 'name').trim() === '');
    await until('nor in the regions', () => tree.ok('space/eu/center.retail', 'get', 'ss', '-o', 'name').trim() === '');
  });

  it('cover objects that are created at the edge too: failed checks by severity, per region', async () => {
    const example = (file: string) => fixture(`docs/examples/compliance/${file}`);
    tree.ok(center, 'apply', '-f', example('policy-report-definition.yaml'), '-f', example('summary.yaml'));
    tree.ok(center, 'apply', '-f', example('compliance.yaml'));
    tree.ok(center, 'wait', 'epl/compliance', '--for=condition=Ready', '--timeout=60s');
    const clusters = ['eu:paris:rivoli', 'eu:paris:bastille', 'us:market'];
    for (const cluster of clusters) tree.ok(`cluster/${cluster}`, 'apply', '-f', example('report.yaml'));
    await until('all are counted', () =>
      shows(center, 'compliance.severity', [
        ['eu', 2, 2, 0, 0],
        ['us', 1, 1, 0, 0],
      ]),
    );
    await until('in their region', () =>
      shows('space/eu:paris/center.retail', 'compliance.severity', [['eu', 2, 2, 0, 0]]),
    );
    tree.ok('cluster/eu:paris:rivoli', 'delete', 'policyreport', 'till', '-n', 'default');
    await until('one less', () => rows(center, 'compliance.severity')[0]?.[1] === 1);
    tree.ok(center, 'delete', 'epl', 'compliance');
  });

  it('are refused with the wrong field', () => {
    const object = (spec: object) => ({
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'StatusSummarizer',
      metadata: { name: 'bad' },
      spec,
    });
    const refused = (spec: object) => tree.apply(center, object(spec)).out;
    expect(refused({ combinedFields: [{ name: 's', type: 'SUM' }] })).toContain(
      'spec.combinedFields[0].subject: Required value',
    );
    expect(refused({ select: [{ name: 'a', def: 'obj.kind' }], limit: 0 })).toContain('spec.limit');
    expect(refused({ filter: 'obj.', combinedFields: [{ name: 'n', type: 'COUNT' }] })).toContain('spec.filter');
  });
});

describe.skipIf(withoutKubectl)(`a summary over five levels${why}`, () => {
  const tree = new LocalTree('deploy/topologies/chain.yaml');
  const counted = (context: string) =>
    tree.json<Summary>(context, 'ss', 'shop.images')?.rows.map(({ columns }) => columns.slice(1)) ?? [];

  beforeAll(() => tree.up());
  afterAll(() => tree[Symbol.asyncDispose]());

  it('covers at each level the nodes below it', async () => {
    tree.ok(center, 'apply', '-f', fixture('docs/examples/summarizers.yaml'));
    const both = [
      [signage, 2, 2],
      [till, 2, 4],
    ];
    const one = [
      [signage, 1, 1],
      [till, 1, 2],
    ];
    for (const [context, expected] of [
      [center, both],
      ['space/a/center.retail', both],
      ['space/a:b/center.retail', both],
      ['space/a:b:c/center.retail', one],
      ['space/a:b:c:d/center.retail', one],
    ] as const) {
      await until(`${context} agrees`, () => JSON.stringify(counted(context)) === JSON.stringify(expected));
    }
  });
});
