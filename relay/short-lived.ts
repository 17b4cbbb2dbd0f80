/**
 * V8 remembers of each place in the program whether what is made there lives long, and from then on makes it among the old objects. What a node makes for an
 * entry lives for a turn or two of the event loop: a collection in the middle of such a turn finds it alive, V8 concludes that it stays, and each of these then
 * keeps what it refers to until the next collection of everything. Without that memory a collection of the young copies a sixth as much
 * (docs/decisions/0035-no-pretenuring.md).
 */
import { setFlagsFromString } from 'node:v8';

/** For a process that has children, before it works. V8 asks for this flag at each collection, so that it need not be said when node starts. */
export function keepShortLivedYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
