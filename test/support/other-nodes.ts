/** Other versions of Node, for tests of what people run by the Node of their machine. They are npm packages, kept outside the checkout. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { majorOf, plainNode } from './plain-node.ts';

/** The versions that README.md promises, and that people have. */
const majors = [20, 22, 24];
const packageName = `node-${process.platform}-${process.arch}`;

function folderOf(major: number): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'banyan', `node-${major}`);
}

function installed(major: number): string {
  return join(folderOf(major), 'node_modules', packageName, 'bin', 'node');
}

/** Major version and program of each Node that is there: the machine's own, and the installed ones. */
export function knownNodes(): [major: number, program: string][] {
  const own: [number, string] = [majorOf(plainNode()), plainNode()];
  const others = majors.filter((major) => major !== own[0] && existsSync(installed(major)));
  return [own, ...others.map((major): [number, string] => [major, installed(major)])];
}

/** A text for the titles of tests that can't run. Undefined: all versions are there. */
export function withoutNodes(): string | undefined {
  const known = knownNodes().map(([major]) => major);
  const missing = majors.filter((major) => !known.includes(major));
  return missing.length === 0 ? undefined : `there is no Node ${missing.join(', ')}: npm run programs installs it`;
}

/** Installs the versions that are missing. */
export async function installNodes(): Promise<void> {
  const known = knownNodes().map(([major]) => major);
  for (const major of majors.filter((one) => !known.includes(one))) {
    const args = ['install', '--no-audit', '--no-fund', '--prefix', folderOf(major), `${packageName}@${major}`];
    const npm = spawn('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const code = await new Promise((done) => npm.once('exit', done));
    if (code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${code}`);
  }
}
