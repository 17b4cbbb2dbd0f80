/** Options of grpc-js for both sides. The session decides about retries and about liveness (beats); gRPC only transports the frames. */
import { maxFrameBytes } from '../codec/frames.ts';

/**
 * 64 KB, the default of HTTP/2, gives 0.64 MB/s if a round trip takes 100 ms. nghttp2 returns credit when half of the window is used. So only half of the
 * window is certain to be in flight: 4 MiB fill a line of 100 Mbit/s with a round trip of 300 ms. The window does not occupy memory, because the session's
 * own credit is smaller.
 */
export const flowControlWindowBytes = 8 * 1024 * 1024;

/**
 * Calls on one connection that are not over at both ends: the session's call, the calls of its 256 streams, and three times as many calls that are refused
 * or ending, each for at most 3 s. A gateway that terminates TLS also sends many sessions over one connection; if it needs more calls, it opens another
 * connection. A call needs about 15 KB.
 */
export const callsMax = 1024;

/** gRPC accepts frames a little over the limit, so that the link itself refuses them with its own message. */
const slackBytes = 64 * 1024;

/**
 * There is no keepalive. On a slow line, its pings would wait behind bulk data, and grpc-js would then break the connection. The session uses beats and
 * received bytes as signs of liveness instead.
 */
export const channelOptions = {
  'grpc.max_receive_message_length': maxFrameBytes + slackBytes,
  // No limit in gRPC: the link has already checked the size.
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  // Without this option, each dial asks the DNS for a TXT record with settings for retries and balancing.
  'grpc.service_config_disable_resolution': 1,
  // The class Way handles proxies. It supports variables in upper and lower case, https proxies, and passwords with every character.
  'grpc.enable_http_proxy': 0,
  // Each link has a connection of its own. No other link shares it.
  'grpc.use_local_subchannel_pool': 1,
  // grpc-js applies this option only at the child. server-window.ts does the same at the parent.
  'grpc-node.flow_control_window': flowControlWindowBytes,
  // grpc-js applies this option only at the parent. At the child, further calls wait.
  'grpc.max_concurrent_streams': callsMax,
} as const;
