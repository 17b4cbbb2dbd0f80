/** The network over gRPC: where this node listens, and with what it proves who it is. */
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { MeshNetwork } from '../network.ts';
import { grpcDialer } from './grpc-dialer.ts';
import { listenGrpc, type NodeCredentials } from './grpc-listener.ts';

export interface GrpcNetworkOptions {
  /** Where children reach this node; an agent has none. Port 0 takes a free one. */
  readonly host: string;
  readonly port: number;
  readonly credentials: NodeCredentials;
  readonly log: Logger;
  readonly clock: Clock;
}

export function grpcNetwork({ host, port, credentials, log, clock }: GrpcNetworkOptions): MeshNetwork {
  return {
    listen: (accept) => listenGrpc({ host, port, credentials, log, clock, accept }),
    dialer: (parent) => grpcDialer({ address: parent.address, parentPath: parent.path, credentials, clock }),
  };
}
