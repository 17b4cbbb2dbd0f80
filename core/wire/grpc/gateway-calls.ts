/**
 * Ends calls on connections of gateways at both ends, and closes such a connection after its last call. After a call has got its status, grpc-js reports
 * nothing more about it, although the call continues as long as its client keeps its half open. The connection of a single child does not need this file:
 * it is closed with its session, and all its calls end with it.
 */
import { constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import { closeWhenIdle } from '../../runtime/idle-session.ts';
import { sessionWithinMs } from '../acceptor.ts';
import { closeWithinMs } from '../frame-link.ts';
import { onServerStreams } from './announced-streams.ts';

/** Starts to end the calls on connections of gateways. Stops when the returned function is called. */
export function endGatewayCalls(clock: Clock, isGateway: (socket: Socket) => boolean): () => void {
  const seen = new WeakSet<ServerHttp2Session>();
  return onServerStreams((stream) => {
    const session = stream.session as ServerHttp2Session | undefined;
    if (!session || !isGateway(session.socket as Socket)) return;
    if (!seen.has(session)) closeWhenIdle(session, sessionWithinMs, clock);
    seen.add(session);
    stream.once('finish', () => {
      const timer = clock.after(closeWithinMs, () => stream.close(constants.NGHTTP2_NO_ERROR));
      stream.once('close', () => timer.stop());
    });
  });
}
