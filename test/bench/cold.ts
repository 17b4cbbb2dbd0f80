/**
 * `banyan up` of the example tree in an empty directory, from the start of the command until every node has joined and every API answers; over the start of
 * Node itself, alone, and once for each process of the tree at the same time.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReadyFile } from '../../center/supervisor/supervisor.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median, timed } from './measure.ts';
import { endProcess, type Scratch } from './scratch.ts';

const program = fileURLToPath(new URL('../../center/cli/banyan.ts', import.meta.url));
const topology = fileURLToPath(new URL('../../deploy/topologies/shop.yaml', import.meta.url));
const rounds = 5;
const readyWithinMs = 120_000;
const lookEveryMs = 10;

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const took = { up: [] as number[], node: [] as number[], nodes: [] as number[] };
  let processes = 0;
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    const { readyMs, nodes } = await bringUp(scratch);
    // The supervisor is a process too.
    processes = nodes + 1;
    took.up.push(readyMs);
    took.node.push(await timed(startNode));
    took.nodes.push(await timed(() => Promise.all(Array.from({ length: processes }, startNode))));
  }
  const value = median(took.up);
  return [
    { name: 'banyan up until ready', value, unit: 'ms', baseline: { name: 'node alone', value: median(took.node) } },
    {
      name: 'the same, over as many processes',
      value,
      unit: 'ms',
      baseline: { name: `${processes} x node at once`, value: median(took.nodes) },
    },
  ];
}

async function bringUp(scratch: Scratch): Promise<{ readyMs: number; nodes: number }> {
  const data = join(scratch.directory(), 'tree');
  const readyFile = join(data, 'ready.json');
  const startMs = performance.now();
  const up = scratch.node([
    program,
    'up',
    '-f',
    topology,
    '--data',
    data,
    '--ready-file',
    readyFile,
    '--timeout',
    '120',
  ]);
  while (!existsSync(readyFile)) {
    if (up.exitCode !== null) throw new Error(`banyan up ended with exit code ${up.exitCode}`);
    if (performance.now() - startMs > readyWithinMs) throw new Error('the tree was not ready in time');
    await new Promise((done) => setTimeout(done, lookEveryMs));
  }
  const readyMs = performance.now() - startMs;
  const { nodes } = JSON.parse(readFileSync(readyFile, 'utf8')) as ReadyFile;
  await endProcess(up, 'SIGTERM');
  return { readyMs, nodes: nodes.length };
}

function startNode(): Promise<void> {
  const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => resolve());
  });
}
