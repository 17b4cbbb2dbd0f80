import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentLaunch } from '../../../../center/supervisor/launch.ts';

const template = readFileSync(
  join(import.meta.dirname, '../../../../deploy/chart/templates/agent/daemon-set.yaml'),
  'utf8',
);

it('the chart starts an agent with the flags that `banyan agent` gives it, before the program, and no others', () => {
  const command = /name: agent\n(?:.*\n)*?.*command:\n((?: +- .*\n)+)/.exec(template)?.[1]?.match(/\S+$/gm);
  expect(command?.slice(0, -3)).toEqual(['/usr/bin/node', ...agentLaunch.flags]);
});

it('and with its variables for the C library', () => {
  const variables = [...template.matchAll(/{name: (MALLOC_\w+), value: "(\d+)"}/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  expect(Object.fromEntries(variables)).toEqual(agentLaunch.env);
});
