/**
 * Settings of V8. Most objects that a node allocates for an entry are needed for one or two turns of the event loop. Two settings make sure that young
 * collections are enough for these objects.
 *
 * Pretenuring: V8 remembers, for each place in the program, whether the objects allocated there are needed for long. If they are, V8 allocates them among the
 * old objects from then on. But a collection in the middle of a turn finds all objects of that turn in use, and V8 wrongly concludes that they stay. Each of
 * these old objects then keeps all objects to which it refers until the next full collection. Without pretenuring, a young collection copies a sixth as much
 * (docs/decisions/0035-no-pretenuring.md).
 *
 * Marking: V8 begins to mark all objects when the headroom below its limit is less than the young generation may hold. With Node 26, the young generation may
 * hold 32 MB of the 40 MB that a small heap gets. The bytes of buffers count too, also of buffers that the next young collection frees. So without this
 * setting, 8 MB of frames and rows after a full collection are enough to start marking again (docs/decisions/0040-marking-later.md).
 */
import { setFlagsFromString } from 'node:v8';

/** Share of the headroom left after a full collection that may fill before the next one starts: gradually (soft), and at once (hard). */
const marksAt = { softPercent: 50, hardPercent: 75 };

/**
 * For a process that has children. Call it before the process works. V8 reads these flags at each collection, so they need not be on the command line of node.
 */
export function setHeapFlags(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString(`--incremental-marking-soft-trigger=${marksAt.softPercent}`);
  setFlagsFromString(`--incremental-marking-hard-trigger=${marksAt.hardPercent}`);
}
