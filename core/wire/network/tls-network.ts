/** The network of the product: listens for the node's children, and dials its parent. */
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Random } from '../../runtime/random.ts';
import type { LinkOptions } from '../dialer/link-options.ts';
import type { EnvironmentProxies } from '../dialer/proxy-choice.ts';
import { Way } from '../dialer/way.ts';
import { grpcDialer } from '../grpc/grpc-dialer.ts';
import type { Dialer } from '../link.ts';
import type { MeshNetwork, ParentAddress } from '../network.ts';
import type { NodeCredentials } from '../node-credentials.ts';
import { provingDialer } from '../proof/child-proof.ts';
import { webSocketDialer } from '../websocket/websocket-dialer.ts';
import { autoDialer, type TransportMemory } from './auto-dialer.ts';
import { listenMesh } from './mesh-listener.ts';

export interface TlsUplinkOptions {
  readonly link: LinkOptions;
  /** The content of the file that `link.ca` names. */
  readonly linkCaPem?: Buffer;
  readonly environment: EnvironmentProxies;
  readonly credentials: NodeCredentials;
  /** The memory of the transport `auto`. It survives restarts. */
  readonly memory: TransportMemory;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
}

export interface TlsNetworkOptions extends TlsUplinkOptions {
  /** The host on which the node listens for its children. Port 0 means any free port. */
  readonly host: string;
  readonly port: number;
  readonly terminatedTls: boolean;
}

export function tlsNetwork(options: TlsNetworkOptions): MeshNetwork {
  return {
    listen: (accept, joins, refused) => listenMesh({ ...options, accept, joins, refused }),
    dialer: (parent) => dialerTo(parent, options),
  };
}

/** Throws Invalid if an address or a proxy can't be used. */
export function dialerTo(parent: ParentAddress, options: TlsUplinkOptions): Dialer {
  const { link, log, memory } = options;
  const way = new Way({ ...options, parent });
  const proven = (dialer: Dialer) => (way.terminated ? provingDialer(dialer, way, options.random) : dialer);
  const grpc = proven(grpcDialer(way));
  const webSocket = proven(webSocketDialer(way));
  switch (link.transport) {
    case 'grpc':
      return grpc;
    case 'websocket':
      return webSocket;
    case 'auto':
      return autoDialer({ dialers: { grpc, websocket: webSocket }, memory, log, clock: options.clock });
  }
}
