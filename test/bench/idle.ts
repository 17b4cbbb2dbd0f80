/**
 * The memory of a parent for each attached idle child: heap and buffers after collections, with and without children; over a server of raw gRPC with as many
 * streams on a TLS connection each, which is the memory of the transport alone.
 */
import type { ChildKind, ChildrenRequest } from './children.ts';
import { credentialsOf, makeAuthority } from './credentials.ts';
import type { BenchPorts, Figure } from './figure.ts';
import type { IdleParentRequest } from './idle-parent.ts';
import { ask } from './scratch.ts';

const path = 'eu';
const names = Array.from({ length: 1_000 }, (_, i) => `kid-${i}`);
/** Acknowledgements are written, and temporary data of the handshakes are freed. */
const calmMs = 5_000;

export async function bench({ scratch, progress }: BenchPorts): Promise<Figure[]> {
  const authority = await makeAuthority();
  const credentials = await credentialsOf(authority, { path, role: 'relay' });
  const perChildBytes = async (kind: ChildKind): Promise<number> => {
    const parent = scratch.fork(new URL('idle-parent.ts', import.meta.url));
    const mesh = kind === 'storing' ? { mesh: { directory: scratch.directory(), names } } : {};
    const { address } = await ask<{ address: string }>(parent, {
      credentials,
      path,
      ...mesh,
    } satisfies IdleParentRequest);
    const { bytes: before } = await ask<{ bytes: number }>(parent, 'memory');
    progress(`attaching ${names.length} children, ${kind}`);
    const children = scratch.fork(new URL('children.ts', import.meta.url));
    const request: ChildrenRequest = { kind, authority, names, parent: { address, path }, answerBytes: 0 };
    await ask(children, request);
    await new Promise((done) => setTimeout(done, calmMs));
    const { bytes: after } = await ask<{ bytes: number }>(parent, 'memory');
    return (after - before) / names.length;
  };
  const [meshBytes, rawBytes] = [await perChildBytes('storing'), await perChildBytes('raw')];
  const kilobytes = (bytes: number) => bytes / 1e3;
  return [
    {
      name: 'heap and buffers for an idle child',
      value: kilobytes(meshBytes),
      unit: 'KB',
      baseline: { name: 'raw gRPC over TLS', value: kilobytes(rawBytes) },
    },
    {
      name: "beyond the transport's own",
      value: kilobytes(meshBytes - rawBytes),
      unit: 'KB',
      goal: { of: 'value', is: '≤', bound: 25 },
    },
  ];
}
