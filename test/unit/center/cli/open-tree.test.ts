import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubeconfigFiles, ownDirectoryOf, type TreeOptions, treeKubeconfig } from '../../../../center/cli/open-tree.ts';

const directory = mkdtempSync(join(tmpdir(), 'banyan-open-tree-'));
const before = process.env.KUBECONFIG;
afterAll(() => rmSync(directory, { recursive: true, force: true }));
afterEach(() => {
  if (before === undefined) delete process.env.KUBECONFIG;
  else process.env.KUBECONFIG = before;
});

function fileOf(name: string, contexts: readonly string[], current: string, cluster: object = {}): string {
  const file = join(directory, name);
  const config = {
    'current-context': current,
    contexts: contexts.map((one) => ({ name: one, context: { cluster: one, user: 'me' } })),
    clusters: contexts.map((one) => ({ name: one, cluster: { server: `https://${name}`, ...cluster } })),
    users: [{ name: 'me', user: { token: name } }],
  };
  writeFileSync(file, stringify(config));
  return file;
}

describe('the kubeconfig of a command', () => {
  it('is that of --kubeconfig, then of --data, then of KUBECONFIG', () => {
    process.env.KUBECONFIG = `/a${delimiter}${delimiter}/b`;
    expect(kubeconfigFiles({ kubeconfig: '/k', data: '/d' })).toEqual(['/k']);
    expect(kubeconfigFiles({ data: '/d' })).toEqual(['/d/kubeconfig']);
    expect(kubeconfigFiles({})).toEqual(['/a', '/b']);
  });

  it('leads to the tree of a data directory only if the directory has it: another tree may have nodes of the same paths', () => {
    const root = (options: TreeOptions) => ownDirectoryOf(options)?.root;
    expect(root({ data: '/d' })).toBe('/d');
    expect(root({ data: '/d', kubeconfig: '/d/kubeconfig' })).toBe('/d');
    expect(root({ data: '/d', kubeconfig: '/other/kubeconfig' })).toBeUndefined();
    expect(root({ kubeconfig: '/d/admin.kubeconfig' })).toBeUndefined();
    process.env.KUBECONFIG = `/d/kubeconfig${delimiter}/b`;
    expect(root({})).toBe('/d');
  });

  it('is merged from several files as kubectl does: of two entries with one name, the first counts', () => {
    const [one, two] = [fileOf('one', ['x', 'y'], ''), fileOf('two', ['y', 'z'], 'z')];
    process.env.KUBECONFIG = [one, join(directory, 'none'), two].join(delimiter);
    const { config, current } = treeKubeconfig({});
    expect(current).toBe('z');
    expect(config.clusters.map(({ name, cluster }) => [name, cluster.server])).toEqual([
      ['x', 'https://one'],
      ['y', 'https://one'],
      ['z', 'https://two'],
    ]);
    expect(config.users).toHaveLength(1);
    process.env.KUBECONFIG = [two, fileOf('first', ['x'], 'x')].join(delimiter);
    expect(treeKubeconfig({}).current).toBe('z');
  });

  it('has absolute names of files', () => {
    const file = fileOf('files', ['x'], 'x', { 'certificate-authority': 'ca.crt' });
    const { config } = treeKubeconfig({ kubeconfig: file });
    expect(config.clusters[0]?.cluster['certificate-authority']).toBe(join(directory, 'ca.crt'));
  });

  it.each([
    [{ kubeconfig: join(directory, 'none') }, /no kubeconfig at .*none: start a tree with: .* up -f/],
    [
      { kubeconfig: fileOf('three', ['prod'], 'prod'), context: 'prd' },
      /--context: there is no context "prd": did you mean "prod"/,
    ],
    [
      { kubeconfig: fileOf('four', ['prod'], 'gone') },
      /current-context: there is no context "gone": choose one with --context: prod/,
    ],
  ])('is refused with a remedy: %j', (options, message) => {
    expect(() => treeKubeconfig(options)).toThrow(message);
  });
});
