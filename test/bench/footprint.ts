/**
 * Resident memory of idle nodes, with the programs of the image: an agent, a relay, the center, and the memory of a relay for each additional child. The
 * baselines are a process of Node alone, and a server of raw gRPC with as many streams.
 */
import { readFileSync } from 'node:fs';
import type { Topology } from '../../center/topology/topology.ts';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { bundledPrograms } from './bundled.ts';
import type { ChildKind, ChildrenRequest } from './children.ts';
import { credentialsOf } from './credentials.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { clusterOf, LocalNodes, relayOf } from './local-nodes.ts';
import { median } from './measure.ts';
import { ask, type Scratch } from './scratch.ts';

const names = Array.from({ length: 1_000 }, (_, i) => `kid-${i}`);
const small = 'small';
const crowd = 'crowd';
const agent = `${small}:site`;

/** One relay with one agent, and one with many children, which this benchmark simulates. */
const topology: Topology = {
  name: 'bench',
  center: { labels: {}, spaces: [] },
  relays: [relayOf('', small), relayOf('', crowd)],
  clusters: [clusterOf(small, 'site'), ...names.map((name) => clusterOf(crowd, name))],
};

/** V8 returns memory some seconds after the last work; the longest wait is a minute. */
const sampleEveryMs = 2_000;
const samplesMax = 30;
const stableSamples = 15;
const stableWithin = 0.005;

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  progress('bundling the programs, starting a center, two relays and an agent');
  const runs = ({ role, path }: { role: string; path: string }) => role !== 'agent' || path === agent;
  const programs = bundledPrograms(scratch);
  const nodes = scratch.use(await LocalNodes.start(scratch.directory(), topology, runs, programs));
  const bare = scratch.node(['-e', 'setInterval(() => {}, 1_000_000)']).pid!;
  const authority = nodes.authority();
  const raw = await startRaw(scratch, authority);
  progress('waiting until their memory is stable');
  const pids = [nodes.pid(agent), nodes.pid(small), nodes.pid(''), bare, nodes.pid(crowd), raw.pid];
  const [agentBytes, relayBytes, centerBytes, bareBytes, knownBytes, rawBytes] = await stable(pids);
  progress(`attaching ${names.length} children`);
  const children = scratch.fork(new URL('children.ts', import.meta.url));
  const attach = (kind: ChildKind, address: string) => {
    const request: ChildrenRequest = { kind, authority, names, parent: { address, path: crowd }, answerBytes: 0 };
    return ask(children, request);
  };
  await attach('storing', nodes.meshAddress(crowd));
  await attach('raw', raw.address);
  progress('waiting until their memory is stable');
  const [attachedBytes, rawAttachedBytes] = await stable([nodes.pid(crowd), raw.pid]);
  const megabytes = (name: string, bytes: number, bound?: number): Figure => ({
    name,
    value: bytes / 1e6,
    unit: 'MB',
    baseline: { name: 'node alone', value: bareBytes! / 1e6 },
    ...(bound === undefined ? {} : { goal: { of: 'value', is: '≤', bound } }),
  });
  const perChild = (bytes: number) => bytes / names.length / 1e3;
  return [
    megabytes('idle agent', agentBytes!, 80),
    megabytes('idle relay', relayBytes!, 120),
    megabytes('idle center', centerBytes!),
    { name: 'for a child that a relay knows', value: perChild(knownBytes! - relayBytes!), unit: 'KB' },
    {
      name: 'for a child that is attached',
      value: perChild(attachedBytes! - relayBytes!),
      unit: 'KB',
      baseline: { name: 'raw gRPC over TLS', value: perChild(rawAttachedBytes! - rawBytes!) },
      goal: { of: 'value', is: '≤', bound: 25 },
    },
  ];
}

async function startRaw(scratch: Scratch, authority: KeyAndCertificate): Promise<{ pid: number; address: string }> {
  const server = scratch.fork(new URL('raw-parent.ts', import.meta.url));
  const { address } = await ask<{ address: string }>(
    server,
    await credentialsOf(authority, { path: crowd, role: 'relay' }),
  );
  return { pid: server.pid!, address };
}

/** Bytes of each process, once no figure has moved for a while. */
async function stable(pids: readonly number[]): Promise<number[]> {
  const samples: number[][] = pids.map(() => []);
  for (let i = 0; i < samplesMax; i++) {
    await new Promise((done) => setTimeout(done, sampleEveryMs));
    for (const [which, pid] of pids.entries()) samples[which]!.push(residentBytes(pid));
    if (i >= stableSamples && samples.every((of) => isStable(of.slice(-stableSamples)))) break;
  }
  return samples.map((of) => median(of.slice(-stableSamples)));
}

function isStable(samples: readonly number[]): boolean {
  return Math.max(...samples) <= Math.min(...samples) * (1 + stableWithin);
}

/** As Linux counts it: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no memory: it has ended`);
  return Number(kilobytes) * 1_024;
}
