/** Options of grpc-js that both sides share. The session machine decides about retries and life; grpc only carries. */
import { maxFrameBytes } from '../frames.ts';

/** 64 KB, HTTP/2's default, gives 0.64 MB/s at a round trip of 100 ms; 4 MiB fill 100 Mbit/s at 300 ms. */
export const flowControlWindowBytes = 4 * 1024 * 1024;

export const channelOptions = {
  'grpc.max_receive_message_length': maxFrameBytes + 1024,
  'grpc.max_send_message_length': maxFrameBytes + 1024,
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc-node.flow_control_window': flowControlWindowBytes,
} as const;
