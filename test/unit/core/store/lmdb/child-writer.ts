/** A process for the tests: it opens the store in argv[2], writes, reports this on stdout, and stays until it is killed. */
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { text } from '../../../../../core/store/bytes.ts';
import { LmdbStore } from '../../../../../core/store/lmdb/lmdb-store.ts';

const store = LmdbStore.open({ directory: process.argv[2]! }, silentLogger);
for (let i = 0; i < 100; i++) store.write((t) => t.put(text(`k${i}`), text(`${i}`)));
// Written in this turn, committed at its end, never flushed.
setImmediate(() => setImmediate(() => process.stdout.write('written\n')));
setInterval(() => store.size(), 1_000);
