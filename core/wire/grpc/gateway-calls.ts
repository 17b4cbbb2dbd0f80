/**
 * Ends calls on connections of gateways at both ends, and such a connection with its last call. grpc-js reports nothing about a call that has got its status,
 * although the call remains while its client leaves its half open. A connection of a single child needs none of this: it is closed with its session, together
 * with everything on it.
 */
import { constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import { closeWhenIdle } from '../../runtime/idle-session.ts';
import { sessionWithinMs } from '../acceptor.ts';
import { closeWithinMs } from '../frame-link.ts';
import { onServerStreams } from './announced-streams.ts';

/** Works from now on until the returned function is called. */
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
