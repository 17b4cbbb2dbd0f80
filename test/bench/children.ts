/**
 * A process with many children, forked by a benchmark: sessions on memory stores, or ends that only answer, of sessions and of raw streams. It ends with its
 * parent.
 */
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import { setHeapFlags } from '../../relay/process/heap-flags.ts';
import { credentialsOf } from './credentials.ts';
import { answerParent } from './forked.ts';
import { answerMesh } from './mesh-answer.ts';
import { attachChild } from './mesh-child.ts';
import { answerRaw } from './raw-grpc.ts';

/** Children of the mesh store received entries, or only answer, like those of raw gRPC. */
export type ChildKind = 'storing' | 'answering' | 'raw';

export interface ChildrenRequest {
  readonly kind: ChildKind;
  readonly authority: KeyAndCertificate;
  readonly parent: { readonly address: string; readonly path: string };
  readonly names: readonly string[];
  /** The answer of a raw stream. */
  readonly answerBytes: number;
}

/** Handshakes at once: each takes some milliseconds in both processes, and a dialer waits ten seconds. */
const dialsAtOnce = 50;

setHeapFlags();
answerParent(async (request: ChildrenRequest | 'usage') => {
  if (request === 'usage') return process.cpuUsage();
  await connectAll(request);
  return { connected: request.names.length };
});

async function connectAll(request: ChildrenRequest): Promise<void> {
  for (let i = 0; i < request.names.length; i += dialsAtOnce) {
    await Promise.all(request.names.slice(i, i + dialsAtOnce).map((name) => connect(request, name)));
  }
}

async function connect({ kind, authority, parent, answerBytes }: ChildrenRequest, name: string): Promise<void> {
  const path = parent.path === '' ? name : `${parent.path}:${name}`;
  const credentials = await credentialsOf(authority, { path, role: 'agent' });
  if (kind === 'raw') return answerRaw(parent.address, credentials, Buffer.alloc(answerBytes));
  if (kind === 'answering') return answerMesh({ path, parent, credentials });
  await attachChild({ store: new MemoryStore(), path, parent, credentials, committed() {} });
}
