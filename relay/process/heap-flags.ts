/**
 * What a node makes for an entry lives for a turn or two of the event loop. V8 is told two things, so that collections of the young are enough for that.
 *
 * It remembers of each place in the program whether what is made there lives long, and from then on makes it among the old objects. A collection in the middle
 * of a turn finds all of that turn alive, V8 concludes that it stays, and each of these then keeps what it refers to until the next collection of everything.
 * Without that memory a collection of the young copies a sixth as much (docs/decisions/0035-no-pretenuring.md).
 *
 * It begins to mark everything as soon as what is free below its limit is less than the young generation may hold. With Node 26 that is 32 MB of the 40 MB that
 * a small heap is given, and the bytes of buffers count, also of those that the next collection of the young frees: 8 MB of frames and rows since the last one
 * (docs/decisions/0040-marking-later.md).
 */
import { setFlagsFromString } from 'node:v8';

/** Of what is free between two collections of everything: so much is used before the next one begins, at leisure and at once. */
const marksAt = { softPercent: 50, hardPercent: 75 };

/** For a process that has children, before it works. V8 asks for these flags at each collection, so that they need not be said when node starts. */
export function setHeapFlags(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString(`--incremental-marking-soft-trigger=${marksAt.softPercent}`);
  setFlagsFromString(`--incremental-marking-hard-trigger=${marksAt.hardPercent}`);
}
