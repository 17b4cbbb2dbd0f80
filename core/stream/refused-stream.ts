/** The end of a stream that never began: its handler is told why, after it has its end. */
import type { ByteStream, StreamHandler, StreamReset } from './stream.ts';

export class RefusedStream implements ByteStream {
  constructor(handler: StreamHandler, reset: StreamReset) {
    queueMicrotask(() => handler.onClosed(reset));
  }

  write(): void {}
  end(): void {}
  consumed(): void {}
  reset(): void {}
}
