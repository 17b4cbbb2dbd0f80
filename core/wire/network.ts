/**
 * How children reach a node and how the node reaches its parent, whatever carries the frames: the transports of the product, or memory in the simulation. A
 * node gets one network and needs to know no more.
 */
import type { Refused } from './acceptor.ts';
import type { Joins } from './joins.ts';
import type { Accept, Dialer, Listener } from './link.ts';

export interface ParentAddress {
  /** host:port */
  readonly address: string;
  /** Empty: the center. */
  readonly path: string;
}

export interface MeshNetwork {
  /**
   * Accepts children from now on, until it is disposed of. With `joins`, also answers requests for certificates where the network has any. Calls `refused`
   * for each connection that ends before it is passed to `accept`.
   */
  listen(accept: Accept, joins?: Joins, refused?: Refused): Promise<Listener>;
  dialer(parent: ParentAddress): Dialer;
}
