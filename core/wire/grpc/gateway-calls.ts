/**
 * Calls on connections of gateways end at both ends, and such a connection with the last of them. grpc-js tells nothing of a call that has got its status,
 * though it stays while its client leaves its half open. Where a connection is one child's, it is closed with its session, and all that is on it.
 */
import { constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import { closeWhenIdle } from '../../runtime/idle-session.ts';
import { sessionWithinMs } from '../acceptor.ts';
import { closeWithinMs } from '../frame-link.ts';
import { onServerStreams } from './announced-streams.ts';

/** From now on, until what it returns is called. */
export function endGatewayCalls(clock: Clock, isGateway: (socket: Socket) => boolean): () => void {
  const known = new WeakSet<ServerHttp2Session>();
  return onServerStreams((stream) => {
    const session = stream.session as ServerHttp2Session | undefined;
    if (!session || !isGateway(session.socket as Socket)) return;
    if (!known.has(session)) closeWhenIdle(session, sessionWithinMs, clock);
    known.add(session);
    stream.once('finish', () => {
      const timer = clock.after(closeWithinMs, () => stream.close(constants.NGHTTP2_NO_ERROR));
      stream.once('close', () => timer.stop());
    });
  });
}
