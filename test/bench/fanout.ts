/**
 * One object to every child: put into all mailboxes, made durable, sent, stored and acknowledged by every child; over a blast of as many bytes
 * on as many TLS streams, each answered once with as many bytes as an acknowledgement has. This process is the parent of both; the children
 * of both live in a second one.
 */

import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { text } from '../../core/store/bytes.ts';
import type { ChildrenRequest } from './children.ts';
import { credentialsOf, makeAuthority } from './credentials.ts';
import type { BenchPorts, Figure } from './figure.ts';
import { median, timed } from './measure.ts';
import { MeshParent } from './mesh-parent.ts';
import { serveRaw } from './raw-grpc.ts';
import { ask } from './scratch.ts';

const path = 'eu';
/** As the objects of the other benchmarks: an ordinary Deployment. */
const bodyBytes = 2_048;
const scales = [
  { children: 100, rounds: 100 },
  { children: 1_000, rounds: 30 },
] as const;
const warmUpRounds = 5;

export async function bench(ports: BenchPorts): Promise<Figure[]> {
  const authority = await makeAuthority();
  const figures: Figure[] = [];
  for (const { children, rounds } of scales) figures.push(...(await fanOut(ports, authority, children, rounds)));
  return figures;
}

async function fanOut(
  { scratch, say }: BenchPorts,
  authority: KeyAndCertificate,
  children: number,
  rounds: number,
): Promise<Figure[]> {
  const names = Array.from({ length: children }, (_, i) => `kid-${i}`);
  const credentials = await credentialsOf(authority, { path, role: 'relay' });
  const mesh = scratch.use(await MeshParent.start(scratch.directory(), path, names, credentials));
  const raw = scratch.use(await serveRaw(credentials));
  const process = scratch.fork(new URL('children.ts', import.meta.url));
  const connect = (kind: 'mesh' | 'raw', address: string, answerBytes = 0) => {
    say(`connecting ${children} children, ${kind}`);
    const request: ChildrenRequest = { kind, authority, names, parent: { address, path }, answerBytes };
    return ask(process, request);
  };
  await connect('mesh', mesh.address);
  await mesh.putAll(contentOf(0));
  const bytes = mesh.frameBytes();
  await connect('raw', raw.address, bytes.ack);
  const message = Buffer.alloc(bytes.batch, 1);
  const took = { mesh: [] as number[], raw: [] as number[] };
  for (let round = 1; round <= warmUpRounds + rounds; round++) {
    if (round % 10 === 0) say(`round ${round} of ${warmUpRounds + rounds}`);
    const meshMs = await timed(() => mesh.putAll(contentOf(round)));
    const rawMs = await timed(() => raw.blast(message));
    if (round <= warmUpRounds) continue;
    took.mesh.push(meshMs);
    took.raw.push(rawMs);
  }
  const perSecond = (ms: number) => (children / ms) * 1_000;
  const entries = { mesh: perSecond(median(took.mesh)), raw: perSecond(median(took.raw)) };
  const shown = children.toLocaleString('en');
  return [
    {
      name: `entries to ${shown} children`,
      value: entries.mesh,
      unit: 'entries/s',
      baseline: { name: 'raw gRPC', value: entries.raw },
      goal: { of: 'ratio', is: '≥', bound: 0.3 },
    },
    {
      name: `bytes to ${shown} children`,
      value: (entries.mesh * bytes.batch) / 1e6,
      unit: 'MB/s',
      baseline: { name: 'raw gRPC', value: (entries.raw * bytes.batch) / 1e6 },
    },
    {
      name: `all ${shown} have stored it, p50`,
      value: median(took.mesh),
      unit: 'ms',
      baseline: { name: 'raw gRPC', value: median(took.raw) },
    },
  ];
}

/** The same key each time, as an object that is edited. */
function contentOf(round: number) {
  return { key: 'o/center.retail/bench', attributes: text('{}'), body: Buffer.alloc(bodyBytes, round) };
}
