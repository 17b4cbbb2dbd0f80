/** Previews, history and undo, with kubectl and the command line. The first test runs the commands of docs/preview-and-undo.md. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { banyan, fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { blocksOf } from '../e2e/page-blocks.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';

/** A line without the values that differ from run to run. */
function plain(line: string): string {
  return line
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

describe.skipIf(withoutKubectl)(`previews, history and undo${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const files = mkdtempSync(join(tree.data, 'files-'));
  const run = (...args: string[]) => banyan(...args, '--data', tree.data);
  const file = (name: string, text: string) => {
    writeFileSync(join(files, name), text);
    return join(files, name);
  };
  const revisionOf = (...object: string[]) =>
    tree.ok(space, 'get', ...object, '-o', 'jsonpath={.metadata.resourceVersion}');
  const data = (name: string, context = space) =>
    tree.json<{ data: Record<string, string> }>(context, 'configmap', name, '-n', 'shop')?.data;
  const configMap = (name: string, text: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop' },
    data: { text },
  });
  const placement = (spec: object) => ({
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'shop' },
    spec: {
      locationSelectors: [{ matchLabels: { env: 'prod' } }],
      downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }],
      ...spec,
    },
  });
  const apply = (...items: object[]) => {
    const { code, out } = tree.apply(space, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const status = () =>
    tree.json<{ status?: { display?: string; rollout?: { phase?: string } } }>(space, 'epl', 'shop')?.status;
  const numbers = () =>
    (
      JSON.parse(tree.ok(space, 'get', '--raw', '/spaces/retail/history/shop')) as { revisions: { number: number }[] }
    ).revisions.map(({ number }) => number);

  beforeAll(() => tree.up());
  afterAll(() => tree[Symbol.asyncDispose]());

  it('are as the page shows them', () => {
    symlinkSync(kubectlProgram, join(files, 'kubectl'));
    const env = {
      ...process.env,
      PATH: [files, process.env.PATH].join(delimiter),
      KUBECONFIG: join(tree.data, 'kubeconfig'),
    };
    const blocks = blocksOf(readFileSync(fixture('docs/preview-and-undo.md'), 'utf8'), plain);
    expect(blocks.length).toBeGreaterThan(5);
    for (const { commands, output } of blocks) {
      const ran = spawnSync('bash', ['-e'], { input: commands, encoding: 'utf8', cwd: fixture('.'), env });
      const lines = `${ran.stdout}${ran.stderr}`.split('\n').map(plain);
      expect(ran.status, `${commands}${lines.join('\n')}`).toBe(0);
      for (const line of output) expect(lines, commands).toContainEqual(line);
    }
  });

  it('write nothing while they look', async () => {
    apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, configMap('a', '1'), placement({}));
    await until('it is everywhere', () => status()?.display === 'available 5/5');
    const before = [revisionOf('epl', 'shop'), revisionOf('configmap', 'a', '-n', 'shop')];
    const planned = file(
      'change.yaml',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [configMap('a', '2'), placement({ locationSelectors: [{}] })],
      }),
    );
    const dry = tree.ok(space, 'apply', '--dry-run=server', '-f', planned, '-o', 'json');
    expect(JSON.parse(dry.slice(dry.indexOf('{'), dry.lastIndexOf('}') + 1)).items[1].status).toMatchObject({
      matchingLocationCount: 6,
      display: 'would match 6 places (+1): directly below this node 1, eu 4, us 1',
    });
    const plan = run('plan', '-f', planned, '--exit-code');
    expect(plan).toMatchObject({ code: 4, out: expect.stringContaining('places   6 (+1)') });
    expect(run('plan', '-f', planned, '--at', 'us:market')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/-.*"?1"?\n\+.*"?2"?/),
    });
    expect([revisionOf('epl', 'shop'), revisionOf('configmap', 'a', '-n', 'shop')]).toEqual(before);
    expect(data('a', 'cluster/us:market')).toEqual({ text: '1' });
  });

  it('show what a cluster would lose, what joins it, and that nothing would change', () => {
    const away = file(
      'away.yaml',
      JSON.stringify(placement({ locationSelectors: [{ matchLabels: { env: 'test' } }] })),
    );
    const lost = run('plan', '-f', away, '--at', 'us:market').out;
    expect(lost).toContain('# EdgePlacement shop does not match us:market');
    expect(lost).toMatch(/--- us:market configmaps shop\/a\n\+\+\+ \/dev\/null/);
    const joined = run('plan', '-f', away, '--at', 'eu:berlin:lab').out;
    expect(joined).toMatch(/--- \/dev\/null\n\+\+\+ plan configmaps shop\/a/);
    const same = run('plan', '--at', 'us:market', '--exit-code');
    expect(same).toMatchObject({ code: 0, out: expect.stringContaining('# no difference to what us:market was sent') });
    expect(run('plan', '--at', 'hq')).toMatchObject({ code: 0, out: expect.stringContaining('name: a') });
  });

  it('show why an object can not be made at a place', () => {
    const annotated = configMap('b', '%(nowhere)');
    const metadata = { ...annotated.metadata, annotations: { 'edge.banyan.io/expand-parameters': 'true' } };
    const planned = file('broken.yaml', JSON.stringify({ ...annotated, metadata }));
    expect(run('plan', '-f', planned, '--at', 'hq').out).toMatch(/configmaps shop\/b can't be made: .*nowhere/);
  });

  it('are refused for wrong input, with words that name field, value and remedy', () => {
    const wrong = file(
      'wrong.yaml',
      [
        'apiVersion: edge.banyan.io/v1alpha1',
        'kind: EdgePlacement',
        'metadata: { name: wrong }',
        'spec:',
        '  locationSelectors:',
        '    - matchExpressions: [{ key: env, operator: Is, values: [prod] }]',
        '  downsync:',
        '    - { apiGroup: apps, resources: [deployment] }',
        '---',
        'kind: ConfigMap',
        'metadata: { name: x }',
        '---',
        'apiVersion: v1',
        'kind: Gadget',
        'metadata: { name: x }',
        '',
      ].join('\n'),
    );
    const { code, out } = run('plan', '-f', wrong);
    expect(code).toBe(2);
    expect(out).toMatch(/wrong\.yaml:6: spec\.locationSelectors\[0\].*Is/);
    expect(out).toMatch(/wrong\.yaml:10: apiVersion is missing/);
    expect(out).toMatch(/wrong\.yaml:14: .*has no kind Gadget in v1/);
    const fine = file('fine.yaml', JSON.stringify(placement({})));
    const cases: [string[], number, RegExp][] = [
      [['plan'], 2, /name what to plan: a file with -f, or a cluster with --at/],
      [['plan', '-f', join(files, 'none.yaml')], 2, /none\.yaml: can't be read/],
      [['plan', '-f', file('empty.yaml', '# nothing\n')], 2, /there is no object in it/],
      [['plan', '-f', file('broken-yaml.yaml', 'a: [\n')], 2, /broken-yaml\.yaml:2: not YAML/],
      [
        ['plan', '-f', fine, '--at', 'eu:paris:rivol'],
        1,
        /--at: there is no cluster "eu:paris:rivol": did you mean "eu:paris:rivoli"/,
      ],
      [['plan', '-f', fine, '--at', 'eu'], 2, /is no cluster but a relay/],
      [['plan', '-f', fine, '--at', 'us:market', '--space', 'space/eu/ops'], 1, /it is not below eu/],
      [['history', 'epl/none'], 1, /edgeplacements\.edge\.banyan\.io "none" not found/],
      [['history', 'deploy/x'], 2, /not of the form epl\/NAME/],
      [['undo', 'epl/shop', '--to', '99'], 1, /EdgePlacement "shop" has no revision 99: name one of 1/],
      [['undo', 'epl/shop', '--to', 'one'], 2, /--to: "one" is no number of a revision/],
      [['undo', 'epl/shop', '--space', 'space/eu/center.retail'], 2, /shows what comes from space\/center\/retail/],
      [['undo', 'epl/shop'], 1, /revision 1 is the only one/],
    ];
    for (const [args, expected, output] of cases) {
      expect(run(...args), args.join(' ')).toMatchObject({ code: expected, out: expect.stringMatching(output) });
    }
  });

  it('undo a change, a deletion, and with --prune an addition', async () => {
    apply(configMap('b', '1'));
    await until('the first revision has it', () => numbers()[0] === 1 || numbers()[0] === 2);
    apply(configMap('a', '2'), configMap('c', 'new'));
    await until(
      'the change is a revision',
      () => (run('history', 'epl/shop').out.match(/\+ configmaps shop\/c/) ?? []).length > 0,
    );
    const [changed] = numbers();
    tree.ok(space, 'delete', 'configmap', 'b', '-n', 'shop');
    await until('c is at a cluster', () => data('c', 'cluster/hq')?.text === 'new');
    const dry = run('undo', 'epl/shop', '--to', String(changed! - 1), '--dry-run').out;
    expect(dry).toContain('configmaps shop/a written (dry run)');
    expect(data('a')).toEqual({ text: '2' });
    const kept = run('undo', 'epl/shop', '--to', String(changed! - 1));
    expect(kept).toMatchObject({ code: 0, out: expect.stringContaining('configmaps shop/c stays') });
    expect([data('a'), data('c')]).toEqual([{ text: '1' }, { text: 'new' }]);
    expect(run('undo', 'epl/shop', '--to', String(changed! - 1), '--prune').out).toContain('configmaps shop/c deleted');
    await until(
      'it is so at a cluster',
      () => data('a', 'cluster/hq')?.text === '1' && data('c', 'cluster/hq') === undefined,
    );
    expect(run('undo', 'epl/shop', '--to', String(changed! - 1)).out).toContain(
      `its objects are as in revision ${changed! - 1}`,
    );
  });

  it('undo a release in waves: the undo goes through the waves too', async () => {
    const rollout = { strategy: 'Progressive', waves: [{ name: 'first', count: 1 }] };
    apply(placement({ rollout }));
    apply(configMap('a', 'good'));
    await until(
      'it is promoted',
      () => status()?.rollout?.phase === 'Promoted' && data('a', 'cluster/hq')?.text === 'good',
    );
    await until('it is a revision', () => /\+|~ configmaps shop\/a/.test(run('history', 'epl/shop').out));
    const good = numbers()[0]!;
    apply(placement({ rollout: { ...rollout, paused: true } }));
    apply(configMap('a', 'bad'));
    await until('it waits', () => status()?.rollout?.phase === 'Paused');
    expect(numbers()[0]).toBe(good);
    expect(run('history', 'epl/shop').out).toContain('1 changed objects are not promoted yet');
    expect(run('undo', 'epl/shop').out).toContain(`back to the objects of revision ${good}`);
    await until('nothing is held', () => status()?.rollout?.phase === 'Promoted');
    expect(data('a')).toEqual({ text: 'good' });
    expect(run('undo', 'epl/shop', '--to', String(good - 1)).code).toBe(0);
    await until('the undo is a release that waits', () => status()?.rollout?.phase === 'Paused');
    expect(data('a', 'cluster/hq')).toEqual({ text: 'good' });
  });
});
