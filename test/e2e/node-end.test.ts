/** A relay's process that ends before it serves. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { fixture } from './local-tree.ts';

let directory: string;
const file = (name: string) => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banyan-node-end-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function start(config: object) {
  for (const name of ['ca', 'cert', 'key']) writeFileSync(file(name), '');
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
  return spawn(process.execPath, [fixture('relay/main.ts'), '--config', file('relay.yaml')]);
}

it('leaves its last words for the next start also where its log can not be written', { timeout: 60_000 }, async () => {
  mkdirSync(file('data'));
  writeFileSync(join(file('data'), 'data.mdb'), 'no store');
  const relay = start({ logFile: '/dev/full' });
  expect(await once(relay, 'exit')).toEqual([1, null]);
  expect(readFileSync(join(file('data'), 'last-words'), 'utf8')).toContain('data.mdb is no data file of LMDB');
});
