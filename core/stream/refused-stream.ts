/** The end of a stream that was refused before it began. Its handler gets the reason in a later turn, after the caller has received the end. */
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
