/**
 * Calls on connections of gateways end at both ends, and such a connection with the last of them. grpc-js tells nothing of a call that has got its status,
 * though it stays while its client leaves its half open, and keeps its connection to itself; node:http2 tells of each stream that a server opens. Where a
 * connection is one child's, it is closed with its session, and all that is on it.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import { closeWhenIdle } from '../../runtime/idle-session.ts';
import { sessionWithinMs } from '../acceptor.ts';
import { closeWithinMs } from '../frame-link.ts';

/** From now on, until what it returns is called. */
export function endGatewayCalls(clock: Clock, isGateway: (socket: Socket) => boolean): () => void {
  const known = new WeakSet<ServerHttp2Session>();
  const opened = (message: unknown) => {
    const { stream } = message as { stream: ServerHttp2Stream };
    const session = stream.session as ServerHttp2Session | undefined;
    if (!session || !isGateway(session.socket as Socket)) return;
    if (!known.has(session)) closeWhenIdle(session, sessionWithinMs, clock);
    known.add(session);
    stream.once('finish', () => {
      const timer = clock.after(closeWithinMs, () => stream.close(constants.NGHTTP2_NO_ERROR));
      stream.once('close', () => timer.stop());
    });
  };
  subscribe('http2.server.stream.created', opened);
  return () => unsubscribe('http2.server.stream.created', opened);
}
