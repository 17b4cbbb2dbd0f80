/** A process that serves only raw streams, forked by a benchmark to read its memory. It ends with its parent. */
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import { setHeapFlags } from '../../relay/process/heap-flags.ts';
import { answerParent } from './forked.ts';
import { serveRaw } from './raw-grpc.ts';

setHeapFlags();
answerParent(async (credentials: NodeCredentials) => {
  const { address } = await serveRaw(credentials);
  return { address };
});
