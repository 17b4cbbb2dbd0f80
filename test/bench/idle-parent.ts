/** A process that is the parent of idle children, of the mesh or of raw gRPC, and reports its memory. It ends with its parent. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import { setHeapFlags } from '../../relay/process/heap-flags.ts';
import { answerParent } from './forked.ts';
import { MeshParent } from './mesh-parent.ts';
import { serveRaw } from './raw-grpc.ts';

export interface IdleParentRequest {
  readonly credentials: NodeCredentials;
  readonly path: string;
  /** The folder of the store, and the children that may attach; absent: raw gRPC. */
  readonly mesh?: { readonly directory: string; readonly names: readonly string[] };
}

/** A collection makes the next one free more: finalizers, and buffers behind them. */
const collections = 5;
const betweenMs = 200;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

setHeapFlags();
answerParent(answer);

async function answer(request: IdleParentRequest | 'memory') {
  if (request === 'memory') return { bytes: await heldBytes() };
  const { credentials, path, mesh } = request;
  const { address } = mesh
    ? await MeshParent.start(mesh.directory, path, mesh.names, credentials)
    : await serveRaw(credentials);
  return { address };
}

/** Objects, and the buffers outside the heap that they hold. */
async function heldBytes(): Promise<number> {
  for (let i = 0; i < collections; i++) {
    collect();
    await new Promise((done) => setTimeout(done, betweenMs));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
