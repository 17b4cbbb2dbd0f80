/**
 * The files that `banyan up` writes below its data directory: every line of every log is JSON, whatever the processes print and however they crash, and no
 * other user can read any of them.
 */
import { spawn } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';
import { banyan, fixture, LocalTree, until } from './local-tree.ts';
import { filesWith, formsOf } from './secret-traces.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly warning?: string;
  readonly reason?: string;
  readonly printed?: boolean;
}

describe.skipIf(withoutKubectl)(`the data directory of a tree${why}`, () => {
  const tree = new LocalTree('test/e2e/data-directory-topology.yaml');
  const before = process.env.NODE_OPTIONS;

  beforeAll(() => {
    process.env.NODE_OPTIONS = `--import ${fixture('test/e2e/noisy-preload.mjs')}`;
    // As an older version left it.
    chmodSync(tree.data, 0o755);
    writeFileSync(join(tree.data, 'old'), '');
    chmodSync(join(tree.data, 'old'), 0o644);
    return tree.up();
  });
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    if (before === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = before;
  });

  const linesOf = (log: string) =>
    readFileSync(join(tree.data, 'logs', log), 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);

  it('has only lines of JSON in its logs, after warnings, prints, crashes, many watches and new sessions', async () => {
    const watch = ['get', 'configmaps', '-A', '-w'];
    const watches = [
      ...Array.from({ length: 15 }, () => tree.kubectlArgs('center', '/spaces/retail')),
      ...Array.from({ length: 15 }, () => tree.kubectlArgs('center', '/tree/eu:rivoli/cluster')),
    ].map((args) => spawn(kubectlProgram, [...args, ...watch], { stdio: 'ignore' }));
    for (const path of ['eu', 'hq']) {
      const pid = tree.pid(path);
      process.kill(pid, 'SIGUSR2');
      await until(`${path} was started again`, () => ![0, pid, undefined].includes(tree.pid(path)));
    }
    for (let time = 0; time < 2; time++) {
      const pid = tree.pid('eu');
      tree.kill('eu');
      await until('eu was started again', () => ![0, pid, undefined].includes(tree.pid('eu')));
    }
    await until('all agents are attached again', () => {
      const { out } = banyan('tree', '--data', tree.data);
      return !/offline|unknown|never/i.test(out) && out.includes('rivoli');
    });
    for (const process of watches) process.kill();
    for (const log of readdirSync(join(tree.data, 'logs'))) expect(linesOf(log).length, log).toBeGreaterThan(0);
    for (const log of ['eu.log', 'hq.log']) {
      const lines = linesOf(log);
      expect(lines).toContainEqual(
        expect.objectContaining({
          level: 40,
          warning: 'DeprecationWarning',
          code: 'TEST0001',
          msg: 'something is old',
        }),
      );
      expect(lines).toContainEqual(expect.objectContaining({ level: 60, reason: 'nobody catches this' }));
      const printed = lines.filter((line) => line.printed).map(({ msg }) => msg);
      expect(printed.sort()).toEqual(['a library prints', 'two lines', 'without an end']);
    }
    const warned = readdirSync(join(tree.data, 'logs'))
      .flatMap(linesOf)
      .map(({ warning }) => warning)
      .filter((warning) => warning !== undefined);
    expect(warned).toEqual(['DeprecationWarning', 'DeprecationWarning']);
  });

  it('is closed to other users, whatever the umask, including the files that existed before', () => {
    const paths = [
      tree.data,
      ...readdirSync(tree.data, { recursive: true }).map((name) => join(tree.data, String(name))),
    ];
    // Files that kubectl has put there belong to kubectl.
    const own = paths.filter((path) => !path.includes('kubecache'));
    const open = own.filter((path) => (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077);
    expect(own.length).toBeGreaterThan(30);
    expect(open).toEqual([]);
  });

  it('shows no content of a Secret that has gone to a cluster, and the content of a ConfigMap beside it', async () => {
    const [secret, plain] = ['four-seven-one-one-pin', 'bread-costs-four'];
    const metadata = { namespace: 'shop' };
    const placement = {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'shop' },
      spec: { locationSelectors: [{}], downsync: [{ apiGroup: '*', resources: ['*'], namespaces: ['shop'] }] },
    };
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, name: 'pin' }, stringData: { pin: secret } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, name: 'prices' }, data: { text: plain } },
      placement,
    ];
    expect(tree.apply('space/center/retail', { apiVersion: 'v1', kind: 'List', items }).code).toBe(0);
    await until(
      'it is there',
      () => tree.kubectl('cluster/eu:rivoli', ['get', 'secret', 'pin', '-n', 'shop']).code === 0,
    );
    await until('all is on the disk', () => filesWith([plain], join(tree.data, 'nodes')).length === 4);
    expect(filesWith(formsOf(secret), tree.data)).toEqual([]);
  });
});

describe('a tree in the background', () => {
  const tree = new LocalTree('test/e2e/data-directory-topology.yaml');
  const { data } = tree;
  afterAll(() => {
    banyan('down', '--data', data);
    rmSync(data, { recursive: true, force: true });
  });

  it('logs as lines of JSON too, and appends to the same log', () => {
    for (let time = 1; time <= 2; time++) {
      const up = banyan('up', '--detach', '-f', fixture('test/e2e/data-directory-topology.yaml'), '--data', data);
      expect(up.code, up.out).toBe(0);
      const lines = readFileSync(join(data, 'logs/supervisor.log'), 'utf8').split('\n').slice(0, -1);
      const messages = lines.map((line) => (JSON.parse(line) as Line).msg);
      expect(messages.filter((message) => message.startsWith('ready after'))).toHaveLength(time);
      expect(banyan('down', '--data', data).code).toBe(0);
    }
  });
});
