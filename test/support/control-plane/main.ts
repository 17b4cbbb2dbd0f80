/**
 * `npm run control-plane -- up|down --name N`: starts or ends a real control plane by hand. `up` prints only the path of its kubeconfig to standard output.
 * The control plane stays until `down`.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ControlPlane } from './control-plane.ts';
import { furnish } from './furniture.ts';

const usage = 'usage: npm run control-plane -- up|down --name N [--nodes COUNT]';
const volumes = 20;
const endMsMax = 10_000;

const { positionals, values } = readArguments();
const [command] = positionals;
const { name } = values;
const nodes = Number(values.nodes ?? '1');
if ((command !== 'up' && command !== 'down') || positionals.length !== 1) fail(usage);
if (!name || !/^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/.test(name)) {
  fail(`--name ${name ?? '(none)'}: up to 32 lower case letters, digits and dashes\n${usage}`);
}
if (!Number.isInteger(nodes) || nodes < 0 || nodes > 100) fail(`--nodes ${values.nodes}: from 0 to 100\n${usage}`);
const directory = join(tmpdir(), `banyan-control-planes-${userInfo().username}`, name);
const pidFile = join(directory, 'pids.json');
await (command === 'up' ? up() : down());

async function up(): Promise<void> {
  if (existsSync(pidFile) && running().length > 0) {
    fail(`the control plane ${name} is up, by ${join(directory, 'admin.kubeconfig')}; end it with down --name ${name}`);
  }
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  console.error('the programs are built on the first start, which takes some ten minutes');
  const plane = await ControlPlane.start({ directory, detached: true });
  writeFileSync(pidFile, JSON.stringify(plane.pids()));
  furnish(plane, { nodes, volumes });
  console.log(plane.kubeconfig);
}

async function down(): Promise<void> {
  if (!existsSync(pidFile)) fail(`there is no control plane ${name}`);
  for (const pid of running()) process.kill(pid, 'SIGTERM');
  const deadline = performance.now() + endMsMax;
  while (running().length > 0 && performance.now() < deadline) await delay(100);
  for (const pid of running()) process.kill(pid, 'SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}

/**
 * The processes of the control plane that still run. A pid may belong to another program by now; the command line of that program does not name the
 * directory.
 */
function running(): number[] {
  const pids = JSON.parse(readFileSync(pidFile, 'utf8')) as number[];
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(directory);
    } catch {
      return false;
    }
  });
}

function readArguments() {
  try {
    return parseArgs({ allowPositionals: true, options: { name: { type: 'string' }, nodes: { type: 'string' } } });
  } catch (error) {
    fail(`${(error as Error).message}\n${usage}`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
