/**
 * Opens the receive windows of the server's connections. grpc-js has an option for this that it heeds on the client's side only, and
 * keeps its HTTP/2 sessions to itself; node:http2 tells of each stream that a server opens.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { flowControlWindowBytes } from './channel-options.ts';
import { sessionMethod, streamMethod } from './session-method.ts';

const opened = new WeakSet<Http2Session>();
let subscribed = false;

/** For all calls of the mesh in this process from now on. */
export function openServerWindows(): void {
  if (subscribed) return;
  subscribed = true;
  subscribe('http2.server.stream.created', (message) => {
    const { stream, headers } = message as { stream: ServerHttp2Stream; headers: IncomingHttpHeaders };
    const { session } = stream;
    const isMesh = headers[':path'] === sessionMethod || headers[':path'] === streamMethod;
    if (!isMesh || !session || opened.has(session)) return;
    opened.add(session);
    // The first goes for each stream, also for those that are open (RFC 9113, section 6.9.2), the second for all of them together.
    session.settings({ initialWindowSize: flowControlWindowBytes });
    session.setLocalWindowSize(flowControlWindowBytes);
  });
}
