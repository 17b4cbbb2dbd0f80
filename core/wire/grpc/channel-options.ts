/** Options of grpc-js that both sides share. The session machine decides about retries and life; grpc only carries. */
import { maxFrameBytes } from '../codec/frames.ts';

/**
 * 64 KB, HTTP/2's default, gives 0.64 MB/s at a round trip of 100 ms. nghttp2 gives credit back when half of the window is used up, so that half of it is what
 * is sure to be in flight: 4 MiB fill 100 Mbit/s at 300 ms. It is no memory that is held: the session's own credit is less.
 */
export const flowControlWindowBytes = 8 * 1024 * 1024;

/**
 * Calls on one connection that are not over at both ends: the session's, those of its 256 streams, and three times as many that are refused or ending,
 * each for 3 s at most. Also sessions that a gateway which terminates TLS brings over one connection; with more it opens another. A call holds some 15 KB.
 */
export const callsMax = 1024;

/** Frames a little over the limit still come in, so that it is the link that refuses them, in its own words. */
const slackBytes = 64 * 1024;

/** No keepalive: its pings wait behind bulk data on a thin line, and grpc-js would break the line for it. Beats and bytes are life. */
export const channelOptions = {
  'grpc.max_receive_message_length': maxFrameBytes + slackBytes,
  // The link looks before.
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  // Otherwise each dial asks the DNS for a TXT record with settings of retries and balancing.
  'grpc.service_config_disable_resolution': 1,
  // Proxies are the way's, which knows both cases of the variables, https proxies and passwords with any character.
  'grpc.enable_http_proxy': 0,
  // One connection a link, which nobody shares.
  'grpc.use_local_subchannel_pool': 1,
  // grpc-js heeds it on the child's side; server-window.ts does the parent's.
  'grpc-node.flow_control_window': flowControlWindowBytes,
  // Heeded on the parent's side only; at the child what is beyond it waits.
  'grpc.max_concurrent_streams': callsMax,
} as const;
