/**
 * How a node is reached by its children and reaches its parent, whatever carries it: the transports of the product, memory in the
 * simulation. A node is given one and asks no further.
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
   * Takes children from now on, until it is disposed of; with `joins` it answers requests for certificates where the network has any. `refused` is told of
   * each connection that ends before it is given to `accept`.
   */
  listen(accept: Accept, joins?: Joins, refused?: Refused): Promise<Listener>;
  dialer(parent: ParentAddress): Dialer;
}
