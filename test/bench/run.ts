/**
 * `npm run bench` lists the benchmarks. `npm run bench -- NAME [--json [FILE]]` runs one of them, and prints a table, or JSON to standard output, or JSON
 * into a file beside the table. Exit codes: 0 all goals hold, 1 one does not or the run failed, 2 bad usage.
 */
import { writeFileSync } from 'node:fs';
import { describeError } from '../../core/runtime/errors.ts';
import { type Bench, type Figure, holds } from './figure.ts';
import { describeMachine, jsonOf, type Machine, machineLine, tableOf } from './report.ts';
import { Scratch } from './scratch.ts';

interface Entry {
  readonly line: string;
  load(): Promise<{ bench: Bench }>;
}

const benches: Readonly<Record<string, Entry>> = {
  api: {
    line: 'creates, gets, lists, pages and watches beside kube-apiserver with etcd, and beside the same bytes from memory',
    load: () => import('./api.ts'),
  },
  encryption: { line: 'a store that seals Secrets over a clear store', load: () => import('./encryption.ts') },
  store: { line: 'durable puts and scans of the store over raw lmdb', load: () => import('./store.ts') },
  fanout: {
    line: 'one object to 100, 1,000 and 5,000 children over a raw gRPC blast',
    load: () => import('./fanout.ts'),
  },
  latency: {
    line: 'a write at the center until it is on the disk of an agent, 1 to 4 hops below',
    load: () => import('./latency.ts'),
  },
  resync: {
    line: 'children with 1,000 entries come back after one of them has changed: bytes over those of the changes',
    load: () => import('./resync.ts'),
  },
  restart: {
    line: 'a killed relay with 1,000,000 mailbox entries, until it is ready again',
    load: () => import('./restart.ts'),
  },
  footprint: {
    line: 'resident memory of an idle agent, an idle relay, and of each child of a relay',
    load: () => import('./footprint.ts'),
  },
  idle: {
    line: 'heap and buffers of a parent for each idle child, over raw gRPC with as many streams',
    load: () => import('./idle.ts'),
  },
  match: {
    line: 'one label change with 10,000 placements and 10,000 Locations, until the mailbox has it',
    load: () => import('./match.ts'),
  },
  summary: {
    line: '3,000 clusters change the state of 45 objects each, until the summaries at the center are exact',
    load: () => import('./summary.ts'),
  },
  fleet: {
    line: 'lists of 20,000 copies at 1,000 clusters through three levels, and the memory of the center meanwhile',
    load: () => import('./fleet.ts'),
  },
  cold: {
    line: '`banyan up` of the example tree from nothing until every node is ready',
    load: () => import('./cold.ts'),
  },
  windows: {
    line: 'what a link fills of 100 Mbit/s at a round trip of 200 ms, each way, by gRPC and by WebSocket',
    load: () => import('./windows.ts'),
  },
  edge: {
    line: 'a write at the center until a real cluster has it and its status is back, over the same straight to the cluster',
    load: () => import('./edge.ts'),
  },
  site: {
    line: 'resident memory of the agent of a real cluster, beside 20,000 objects of others and 2,000 of its own',
    load: () => import('./site.ts'),
  },
  hostile: {
    line: 'small reads beside hostile clients, at a space and at a kube-apiserver',
    load: () => import('./hostile.ts'),
  },
  tenants: {
    line: 'a client of one space beside 32 connections that write into another space',
    load: () => import('./tenants.ts'),
  },
  customize: {
    line: 'one object customized for 1,000 agents with three distinct values, and one Location changed',
    load: () => import('./customize.ts'),
  },
};

interface Arguments {
  readonly name?: string;
  /** `-`: standard output. */
  readonly json?: string;
}

const usage = 'npm run bench -- NAME [--json [FILE]]';

class UsageError extends Error {}

try {
  const { name, json } = argumentsOf(process.argv.slice(2));
  if (name === undefined) {
    process.stdout.write(`${listOf()}\n`);
  } else {
    const machine = describeMachine();
    const figures = await run(name);
    print({ name, figures, machine }, json);
    process.exitCode = figures.some((figure) => holds(figure) === false) ? 1 : 0;
  }
} catch (error) {
  const isUsage = error instanceof UsageError;
  process.stderr.write(`${isUsage ? error.message : describeError(error)}\n`);
  if (!isUsage) process.stderr.write(`${(error as Error).stack}\n`);
  process.exitCode = isUsage ? 2 : 1;
}

function argumentsOf(args: readonly string[]): Arguments {
  let name: string | undefined;
  let json: string | undefined;
  for (const [i, arg] of args.entries()) {
    if (arg === '--json') json = '-';
    else if (arg.startsWith('-')) throw new UsageError(`unknown option ${arg}; usage: ${usage}`);
    // The file comes directly after its option, unless the name is there.
    else if (args[i - 1] === '--json' && (name !== undefined || !Object.hasOwn(benches, arg))) json = arg;
    else if (name !== undefined) throw new UsageError(`one benchmark a run: ${name} or ${arg}? usage: ${usage}`);
    else name = arg;
  }
  if (name !== undefined && !Object.hasOwn(benches, name)) {
    throw new UsageError(`there is no benchmark "${name}"; there are:\n${listOf()}`);
  }
  if (name === undefined && json !== undefined) throw new UsageError(`which benchmark? there are:\n${listOf()}`);
  return { ...(name === undefined ? {} : { name }), ...(json === undefined ? {} : { json }) };
}

async function run(name: string): Promise<Figure[]> {
  await using scratch = new Scratch();
  const end = (signal: NodeJS.Signals) => {
    process.stderr.write(`${signal}: cleaning up\n`);
    void scratch[Symbol.asyncDispose]().finally(() => process.exit(1));
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  const { bench } = await benches[name]!.load();
  const figures = await bench({ scratch, progress: (line) => process.stderr.write(`${name}: ${line}\n`) });
  process.off('SIGINT', end);
  process.off('SIGTERM', end);
  return figures;
}

function print(
  { name, figures, machine }: { name: string; figures: readonly Figure[]; machine: Machine },
  json: string | undefined,
): void {
  const written = json === undefined ? '' : `${jsonOf(name, figures, machine, new Date())}\n`;
  process.stdout.write(json === '-' ? written : `${tableOf(figures)}\n${machineLine(machine)}\n`);
  if (json !== undefined && json !== '-') writeFileSync(json, written);
}

function listOf(): string {
  const width = Math.max(...Object.keys(benches).map((name) => name.length));
  return Object.entries(benches)
    .map(([name, { line }]) => `  ${name.padEnd(width)}  ${line}`)
    .join('\n');
}
