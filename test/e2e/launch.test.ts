/**
 * The process of a node starts with the flags and variables that keep it small, whichever program starts it. The tests of the chart compare the chart's flags and
 * variables with these.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentLaunch, relayLaunch } from '../../center/supervisor/launch.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, LocalTree } from './local-tree.ts';

/** The arguments and variables with which a Node process was started. */
interface Started {
  readonly flags: readonly string[];
  readonly program: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const variables = Object.keys(agentLaunch.env);
const none = Object.fromEntries(variables.map((name) => [name, undefined]));

describe('banyan agent and banyan relay', () => {
  it('start an agent with the flags and variables of agents', () => {
    const { flags, environment } = startedBy('agent', 'edge-agent/main.ts');
    expect({ flags, environment }).toEqual({ flags: agentLaunch.flags, environment: agentLaunch.env });
  });

  it('start a relay with the variables of relays', () => {
    const { flags, environment } = startedBy('relay', 'relay/main.ts');
    expect({ flags, environment }).toEqual({ flags: [], environment: relayLaunch.env });
  });

  it('keep a variable that the caller has set', () => {
    const { environment } = startedBy('agent', 'edge-agent/main.ts', { MALLOC_ARENA_MAX: '4' });
    expect(environment.MALLOC_ARENA_MAX).toBe('4');
  });
});

describe.skipIf(withoutKubectl)('banyan up', () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  beforeAll(() => tree.up());
  afterAll(() => tree[Symbol.asyncDispose]());

  it('starts each node with those of its role', () => {
    const { flags, environment } = runningAs(tree.pid('hq'));
    expect({ flags, environment }).toEqual({ flags: agentLaunch.flags, environment: agentLaunch.env });
    for (const path of ['center', 'eu', 'eu:paris'])
      expect(runningAs(tree.pid(path)), path).toMatchObject({ flags: [], environment: relayLaunch.env });
  });
});

/** Each Node process reports its arguments before it does anything. The configuration does not exist, so none continues. */
function startedBy(command: string, program: string, environment: Readonly<Record<string, string>> = {}): Started {
  const script = `console.log(JSON.stringify({ flags: process.execArgv, program: process.argv[1],
    environment: Object.fromEntries(${JSON.stringify(variables)}.map((name) => [name, process.env[name]])) }))`;
  const { stdout } = spawnSync(
    process.execPath,
    [fixture('center/cli/banyan.ts'), command, '--config', '/nowhere/node.yaml'],
    {
      env: {
        ...process.env,
        ...environment,
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`,
      },
      encoding: 'utf8',
    },
  );
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"flags"'));
  const started = lines.map((line) => JSON.parse(line) as Started).find((one) => one.program === fixture(program));
  if (!started) throw new Error(`${program} was not started; said: ${stdout}`);
  return { ...started, environment: { ...none, ...started.environment } };
}

function runningAs(pid: number): Started {
  const fieldsOf = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  const [, ...command] = fieldsOf('cmdline');
  const at = command.findIndex((arg) => !arg.startsWith('-'));
  const set = fieldsOf('environ').map((line) => line.split(/=(.*)/s, 2) as [string, string]);
  const environment = { ...none, ...Object.fromEntries(set.filter(([name]) => variables.includes(name))) };
  return { flags: command.slice(0, at), program: command[at]!, environment };
}
