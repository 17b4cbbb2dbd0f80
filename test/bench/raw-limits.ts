/** The least cost of one step of a hop, one at a time: a message there and back, and bytes until they are on the disk. */
import { join } from 'node:path';
import { open } from 'lmdb';
import { silentLogger } from '../../core/runtime/logger.ts';
import { text } from '../../core/store/bytes.ts';
import { LmdbStore } from '../../core/store/lmdb/lmdb-store.ts';
import type { ChildrenRequest } from './children.ts';
import { credentialsOf, makeAuthority } from './credentials.ts';
import { serveRaw } from './raw-grpc.ts';
import { ask, type Scratch } from './scratch.ts';

/** The size of an acknowledgement's frame. */
const answerBytes = 24;

/** To another process and back, over TLS. */
export async function rawRoundTrip(scratch: Scratch, bytes: number): Promise<() => Promise<void>> {
  const authority = await makeAuthority();
  const server = scratch.use(await serveRaw(await credentialsOf(authority, { path: '', role: 'center' })));
  const request: ChildrenRequest = {
    kind: 'raw',
    authority,
    names: ['one'],
    parent: { address: server.address, path: '' },
    answerBytes,
  };
  await ask(scratch.fork(new URL('children.ts', import.meta.url)), request);
  const message = Buffer.alloc(bytes, 1);
  return () => server.blast(message);
}

/** As lmdb's authors advise. */
export function rawFlush(scratch: Scratch, bytes: number): () => Promise<void> {
  const path = join(scratch.directory(), 'data.mdb');
  const database = open<Uint8Array, string>({ path, noSubdir: true, encoding: 'binary' });
  scratch.use({ [Symbol.asyncDispose]: () => database.close() });
  let round = 0;
  return async () => {
    await database.put('bench', Buffer.alloc(bytes, round++));
    await database.flushed;
  };
}

/** The same through the store port. */
export function ownFlush(scratch: Scratch, bytes: number): () => Promise<void> {
  const store = scratch.use(LmdbStore.open({ directory: scratch.directory() }, silentLogger));
  let round = 0;
  return () => {
    store.write((t) => t.put(text('bench'), Buffer.alloc(bytes, round++)));
    return store.flushed();
  };
}
