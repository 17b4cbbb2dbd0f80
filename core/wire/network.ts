/**
 * How children reach a node, and how the node reaches its parent. The product has a network of transports, the simulation a network in memory. A node gets
 * one network, and does not know which.
 */
import type { Refused } from './acceptor.ts';
import type { Joins } from './joins.ts';
import type { Accept, Dialer, Listener } from './link.ts';

export interface ParentAddress {
  /** The parent's host:port. */
  readonly address: string;
  /** The parent's path. Empty: the center. */
  readonly path: string;
}

export interface MeshNetwork {
  /**
   * Accepts children until the listener is disposed of. With `joins`, also answers requests for certificates if the network supports them. Calls `refused`
   * for each connection that ends before it is passed to `accept`.
   */
  listen(accept: Accept, joins?: Joins, refused?: Refused): Promise<Listener>;
  dialer(parent: ParentAddress): Dialer;
}
