/** Opens the receive windows of the server's connections. grpc-js has an option for this, but applies the option only at the child. */
import type { Http2Session } from 'node:http2';
import { onServerStreams } from './announced-streams.ts';
import { flowControlWindowBytes } from './channel-options.ts';

const opened = new WeakSet<Http2Session>();
let subscribed = false;

/** Applies to all mesh calls in this process from now on. */
export function openServerWindows(): void {
  if (subscribed) return;
  subscribed = true;
  onServerStreams(({ session }, method) => {
    if (!method || !session || opened.has(session)) return;
    opened.add(session);
    // The setting is for each stream, also for open streams (RFC 9113, section 6.9.2). The local window is for all streams together.
    session.settings({ initialWindowSize: flowControlWindowBytes });
    session.setLocalWindowSize(flowControlWindowBytes);
  });
}
