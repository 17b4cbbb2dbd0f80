/**
 * One object to every child: put into all mailboxes, made durable, sent and acknowledged by every child; over a transmission of as many bytes on as many TLS
 * streams, each answered once with as many bytes as an acknowledgement has. This process is the parent of both. The children of each are in processes of
 * their own, and the measured ones only answer, as those of raw gRPC do. Other children, which store received entries, are measured for comparison.
 */

import type { ChildProcess } from 'node:child_process';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { text } from '../../core/store/bytes.ts';
import { setHeapFlags } from '../../relay/process/heap-flags.ts';
import type { ChildrenRequest } from './children.ts';
import { credentialsOf, makeAuthority } from './credentials.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median, timed } from './measure.ts';
import { MeshParent } from './mesh-parent.ts';
import { serveRaw } from './raw-grpc.ts';
import { ask } from './scratch.ts';

const path = 'eu';
/** Like the objects of the other benchmarks: an ordinary Deployment. */
const bodyBytes = 2_048;

interface Scale {
  readonly children: number;
  readonly kind: 'answering' | 'storing';
  /** These rounds do not count. */
  readonly warmUpRounds: number;
  readonly rounds: number;
}

/**
 * Rounds of a warm-up, until V8 has compiled the hot code: the first rounds of 1,000 children take a fifth longer than later ones. After ten thousand entries
 * V8 is still compiling, in threads that need the same processors: a tenth of the time of a round of 100 children, if they are the first. A hundred of these
 * rounds are one second, whose median was 0.57 to 0.66 of raw gRPC in seven runs one after the other.
 */
const scales: readonly Scale[] = [
  { children: 1_000, kind: 'answering', warmUpRounds: 40, rounds: 30 },
  { children: 5_000, kind: 'answering', warmUpRounds: 10, rounds: 10 },
  { children: 100, kind: 'answering', warmUpRounds: 100, rounds: 400 },
  { children: 1_000, kind: 'storing', warmUpRounds: 40, rounds: 30 },
];
/**
 * A full collection comes whenever buffers have grown by 64 MB (V8's bound, whatever the heap), and takes longer the more a process holds. In production, no
 * process holds the data of five thousand agents: it would stand still for a third of each round.
 */
const childrenPerProcess = 1_000;
/** Acknowledgements are in the store, 50 ms after their arrival. Not longer, because the processor's caches are lost meanwhile. */
const settledMs = 75;

export async function bench(ports: BenchPorts): Promise<Figure[]> {
  setHeapFlags();
  const authority = await makeAuthority();
  const figures: Figure[] = [];
  for (const scale of scales) figures.push(...(await fanOut(ports, authority, scale)));
  return figures;
}

async function fanOut(
  { scratch, progress }: BenchPorts,
  authority: KeyAndCertificate,
  { children, kind, warmUpRounds, rounds }: Scale,
): Promise<Figure[]> {
  const names = Array.from({ length: children }, (_, i) => `kid-${i}`);
  const credentials = await credentialsOf(authority, { path, role: 'relay' });
  const mesh = scratch.use(await MeshParent.start(scratch.directory(), path, names, credentials));
  const raw = scratch.use(await serveRaw(credentials));
  const groups = Array.from({ length: Math.ceil(children / childrenPerProcess) }, (_, i) =>
    names.slice(i * childrenPerProcess, (i + 1) * childrenPerProcess),
  );
  // Separate for each kind: the objects of one would be marked at every collection that the other causes.
  const program = new URL('children.ts', import.meta.url);
  const processes = { mesh: groups.map(() => scratch.fork(program)), raw: groups.map(() => scratch.fork(program)) };
  const connect = async (which: keyof typeof processes, address: string, answerBytes = 0) => {
    progress(`connecting ${children} children, ${which === 'raw' ? which : kind}`);
    for (const [i, group] of groups.entries()) {
      const whose = { kind: which === 'raw' ? which : kind, names: group, answerBytes } as const;
      await ask(processes[which][i]!, { ...whose, authority, parent: { address, path } } satisfies ChildrenRequest);
    }
  };
  await connect('mesh', mesh.address);
  await mesh.putAll(contentOf(0));
  const bytes = mesh.frameBytes();
  await connect('raw', raw.address, bytes.ack);
  const message = Buffer.alloc(bytes.batch, 1);
  const took = { mesh: [] as number[], raw: [] as number[] };
  const cpu = { mesh: new Cpu(processes.mesh), raw: new Cpu(processes.raw) };
  for (let round = 1; round <= warmUpRounds + rounds; round++) {
    if (round % 10 === 0) progress(`round ${round} of ${warmUpRounds + rounds}`);
    const meshMs = await cpu.mesh.of(() => timed(() => mesh.putAll(contentOf(round))));
    const rawMs = await cpu.raw.of(() => timed(() => raw.blast(message)));
    if (round <= warmUpRounds) continue;
    took.mesh.push(meshMs);
    took.raw.push(rawMs);
  }
  const perSecond = (ms: number) => (children / ms) * 1_000;
  const entries = { mesh: perSecond(median(took.mesh)), raw: perSecond(median(took.raw)) };
  const shown = `${children.toLocaleString('en')} ${kind === 'storing' ? 'storing children' : 'children'}`;
  const perEntry = (end: 'parent' | 'children'): Figure => ({
    name: `CPU for an entry, ${end === 'parent' ? `parent of ${shown}` : shown}`,
    value: Math.min(...cpu.mesh[end].slice(warmUpRounds)) / children,
    unit: 'us',
    baseline: { name: 'raw gRPC', value: Math.min(...cpu.raw[end].slice(warmUpRounds)) / children },
  });
  return [
    perEntry('parent'),
    perEntry('children'),
    {
      name: `entries to ${shown}`,
      value: entries.mesh,
      unit: 'entries/s',
      baseline: { name: 'raw gRPC', value: entries.raw },
      // Children do all other work elsewhere: here they would take processor time from the parent.
      ...(kind === 'answering' ? { goal: { of: 'ratio', is: '≥', bound: 0.6 } } : {}),
    },
    {
      name: `bytes to ${shown}`,
      value: (entries.mesh * bytes.batch) / 1e6,
      unit: 'MB/s',
      baseline: { name: 'raw gRPC', value: (entries.raw * bytes.batch) / 1e6 },
    },
    {
      name: `all ${shown} have answered, p50`,
      value: median(took.mesh),
      unit: 'ms',
      baseline: { name: 'raw gRPC', value: median(took.raw) },
    },
  ];
}

/** CPU time of both ends for a round, with all consequences. */
class Cpu {
  readonly parent: number[] = [];
  readonly children: number[] = [];
  readonly #processes: readonly ChildProcess[];

  constructor(processes: readonly ChildProcess[]) {
    this.#processes = processes;
  }

  async of<T>(act: () => Promise<T>): Promise<T> {
    const before = await this.#now();
    const done = await act();
    await new Promise((settled) => setTimeout(settled, settledMs));
    const after = await this.#now();
    this.parent.push(after.parent - before.parent);
    this.children.push(after.children - before.children);
    return done;
  }

  async #now() {
    const usages = await Promise.all(this.#processes.map((one) => ask<NodeJS.CpuUsage>(one, 'usage')));
    const children = usages.reduce((sum, usage) => sum + microseconds(usage), 0);
    return { parent: microseconds(process.cpuUsage()), children };
  }
}

function microseconds({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}

/** The same key each time, like an object that is edited. */
function contentOf(round: number) {
  return { key: 'o/center.retail/bench', attributes: text('{}'), body: Buffer.alloc(bodyBytes, round) };
}
