/** Options of grpc-js that both sides share. The session machine decides about retries and signs of life; gRPC only carries. */
import { maxFrameBytes } from '../codec/frames.ts';

/**
 * 64 KB, the default of HTTP/2, gives 0.64 MB/s at a round trip of 100 ms. nghttp2 returns credit when half of the window is used up, so only half of the
 * window is sure to be in flight: 4 MiB fill 100 Mbit/s at 300 ms. The window does not occupy memory, because the session's own credit is smaller.
 */
export const flowControlWindowBytes = 8 * 1024 * 1024;

/**
 * Calls on one connection that are not over at both ends: the session's call, the calls of its 256 streams, and three times as many that are refused or
 * ending, each for 3 s at most. Also the sessions that a gateway which terminates TLS brings over one connection; for more, the gateway opens another
 * connection. A call takes some 15 KB.
 */
export const callsMax = 1024;

/** Frames a little over the limit are still received, so that the link itself refuses them with its own message. */
const slackBytes = 64 * 1024;

/**
 * No keepalive: its pings wait behind bulk data on a slow line, and grpc-js would then break the connection. Beats and received bytes are the signs of life.
 */
export const channelOptions = {
  'grpc.max_receive_message_length': maxFrameBytes + slackBytes,
  // The link checks before.
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  // Otherwise each dial asks the DNS for a TXT record with settings of retries and balancing.
  'grpc.service_config_disable_resolution': 1,
  // The way handles proxies. It supports both cases of the variables, https proxies, and passwords with any character.
  'grpc.enable_http_proxy': 0,
  // Each link has one connection, which nobody shares.
  'grpc.use_local_subchannel_pool': 1,
  // grpc-js applies this on the child's side only. server-window.ts does the same on the parent's side.
  'grpc-node.flow_control_window': flowControlWindowBytes,
  // Applied on the parent's side only. At the child, further calls wait.
  'grpc.max_concurrent_streams': callsMax,
} as const;
