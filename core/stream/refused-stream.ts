/** The end of a stream that never began. Its handler gets the reason after the caller has the end. */
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
