/** Canaries that remove rules of byte streams. */
import { ByteQueue } from '../../../core/stream/byte-queue.ts';
import { StreamEnd } from '../../../core/stream/stream-end.ts';
import type { Canaries } from './canary.ts';

export const streamCanaries: Canaries = {
  'stream-bytes-doubled': {
    break() {
      const { take } = ByteQueue.prototype;
      ByteQueue.prototype.take = function (bytes) {
        const taken = take.call(this, bytes);
        return taken.length < 2 ? taken : Buffer.concat([taken.subarray(1, 2), taken.subarray(1)]);
      };
    },
  },
  'stream-credit-kept': {
    break() {
      StreamEnd.prototype.consumed = () => {};
    },
  },
};
