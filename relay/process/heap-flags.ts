/**
 * Most objects that a node allocates for an entry live for one or two turns of the event loop. Two settings make sure that young collections are enough
 * for them.
 *
 * Pretenuring: V8 remembers for each place in the program whether the objects allocated there live long. From then on it allocates them among the old
 * objects. A collection in the middle of a turn finds all objects of that turn alive, and V8 concludes that they stay. Each of these old objects then
 * keeps all objects that it refers to until the next full collection. Without pretenuring, a young collection copies a sixth as much
 * (docs/decisions/0035-no-pretenuring.md).
 *
 * Marking: V8 begins to mark all objects when the headroom below its limit is less than the young generation may hold. With Node 26 that is 32 MB of
 * the 40 MB that a small heap gets. The bytes of buffers count too, also of buffers that the next young collection frees. So 8 MB of frames and rows
 * since the last full collection were enough to begin one (docs/decisions/0040-marking-later.md).
 */
import { setFlagsFromString } from 'node:v8';

/** Share of the headroom left after a full collection that may fill before the next one starts: at leisure (soft), and at once (hard). */
const marksAt = { softPercent: 50, hardPercent: 75 };

/**
 * For a process that has children: call it before the process works. V8 reads these flags at each collection, so they need not be on the command line
 * of node.
 */
export function setHeapFlags(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString(`--incremental-marking-soft-trigger=${marksAt.softPercent}`);
  setFlagsFromString(`--incremental-marking-hard-trigger=${marksAt.hardPercent}`);
}
