/** A relay's process that ends before it serves. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { fixture } from '../e2e/local-tree.ts';
import { TestTree } from '../support/test-tree.ts';

let directory: string;
const file = (name: string) => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banyan-node-end-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function start(config: object, env: NodeJS.ProcessEnv = {}) {
  const { caPem, certPem, keyPem } = await (await TestTree.create()).credentials('eu', 'relay');
  writeFileSync(file('ca'), caPem);
  writeFileSync(file('cert'), certPem);
  writeFileSync(file('key'), keyPem);
  const whole = {
    path: 'eu',
    data: file('data'),
    api: {},
    mesh: {},
    parent: { address: '127.0.0.1:9', path: '' },
    pki: { ca: file('ca'), cert: file('cert'), key: file('key') },
    ...config,
  };
  writeFileSync(file('relay.yaml'), stringify(whole));
  return spawn(process.execPath, [fixture('relay/main.ts'), '--config', file('relay.yaml')], {
    env: { ...process.env, ...env },
  });
}

it('leaves its last error for the next start even if its log cannot be written', async () => {
  mkdirSync(file('data'));
  writeFileSync(join(file('data'), 'data.mdb'), 'no store');
  const relay = await start({ logFile: '/dev/full' });
  expect(await once(relay, 'exit')).toEqual([1, null]);
  expect(readFileSync(join(file('data'), 'crash-message'), 'utf8')).toContain('data.mdb is no data file of LMDB');
});

it('ends in order when it gets a signal while its disk is not ready yet', async () => {
  const preload = pathToFileURL(fixture('test/e2e/failing-flush-preload.mjs'));
  writeFileSync(file('relay.yaml.flush-waits'), '');
  const relay = await start({ logFile: file('log') }, { NODE_OPTIONS: `--import ${preload}` });
  const ended = once(relay, 'exit');
  const runs = () => relay.exitCode === null && relay.signalCode === null;
  while (!existsSync(file('relay.yaml.flush-waited')) && runs()) await delay(50);
  relay.kill('SIGTERM');
  // As the first process of a container it would continue: no signal ends such a process by default.
  while (!readFileSync(file('log'), 'utf8').includes('the node ends') && runs()) await delay(50);
  rmSync(file('relay.yaml.flush-waits'));
  expect(await ended).toEqual([0, null]);
});
