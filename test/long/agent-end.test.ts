/** An agent's process that gets a signal before it runs anything. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { fixture } from '../e2e/local-tree.ts';

let directory: string;
const file = (name: string) => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'banyan-agent-end-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('ends in order while it waits for its parent’s answer to its join token', async () => {
  writeFileSync(file('token'), `banyan-join-1.abcdefghij.${'A'.repeat(43)}.${'A'.repeat(43)}`);
  const config = {
    path: 'eu:store',
    data: file('data'),
    logFile: file('log'),
    parent: { address: '127.0.0.1:9', path: 'eu' },
    pki: { joinToken: file('token') },
    cluster: { embedded: {} },
  };
  writeFileSync(file('agent.yaml'), stringify(config));
  const agent = spawn(process.execPath, [fixture('edge-agent/main.ts'), '--config', file('agent.yaml')]);
  const ended = once(agent, 'exit');
  const log = () => (existsSync(file('log')) ? readFileSync(file('log'), 'utf8') : '');
  while (!log().includes('not joined yet') && agent.exitCode === null) await delay(50);
  agent.kill('SIGTERM');
  // As the first process of a container it would continue: no signal ends such a process by default.
  expect(await ended).toEqual([0, null]);
  expect(log()).toContain('the agent is ending');
});
