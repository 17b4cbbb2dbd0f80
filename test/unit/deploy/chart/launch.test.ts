import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentLaunch, relayLaunch } from '../../../../center/supervisor/launch.ts';

const templates = join(import.meta.dirname, '../../../../deploy/chart/templates');
const agent = readFileSync(join(templates, 'agent/daemon-set.yaml'), 'utf8');
const node = readFileSync(join(templates, 'node/stateful-set.yaml'), 'utf8');

it('the chart starts an agent with the flags that `banyan agent` gives it, before the program, and no others', () => {
  const command = /name: agent\n(?:.*\n)*?.*command:\n((?: +- .*\n)+)/.exec(agent)?.[1]?.match(/\S+$/gm);
  expect(command?.slice(0, -3)).toEqual(['/usr/bin/node', ...agentLaunch.flags]);
});

it.each([
  ['an agent', agent, agentLaunch],
  ['a center and a relay', node, relayLaunch],
])('the chart starts %s with the variables for the C library', (_, template, { env }) => {
  const variables = [...template.matchAll(/{name: (MALLOC_\w+), value: "(\d+)"}/g)];
  expect(Object.fromEntries(variables.map(([, name, value]) => [name, value]))).toEqual(env);
});
