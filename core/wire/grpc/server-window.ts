/** Opens the receive windows of the server's connections. grpc-js has an option for this that it heeds on the client's side only. */
import type { Http2Session } from 'node:http2';
import { onServerStreams } from './announced-streams.ts';
import { flowControlWindowBytes } from './channel-options.ts';

const opened = new WeakSet<Http2Session>();
let subscribed = false;

/** For all calls of the mesh in this process from now on. */
export function openServerWindows(): void {
  if (subscribed) return;
  subscribed = true;
  onServerStreams(({ session }, method) => {
    if (!method || !session || opened.has(session)) return;
    opened.add(session);
    // The first goes for each stream, also for those that are open (RFC 9113, section 6.9.2), the second for all of them together.
    session.settings({ initialWindowSize: flowControlWindowBytes });
    session.setLocalWindowSize(flowControlWindowBytes);
  });
}
