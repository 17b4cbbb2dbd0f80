/** Canaries that remove rules about resuming a feed. */
import type { ResumeTuple } from '../../../core/feed/feed.ts';
import { FeedProducer } from '../../../core/feed/producer.ts';
import type { Reader } from '../../../core/store/store.ts';
import type { Canaries, Canary } from './canary.ts';

export const resumeCanaries: Canaries = {
  'epoch-unchecked': resumesWith(({ epoch }, _reader, tuple) => ({ ...tuple, epoch })),
  'incarnation-unchecked': resumesWith(({ incarnation }, _reader, tuple) => ({ ...tuple, incarnation })),
  'seen-head-forgotten': resumesWith((_producer, _reader, tuple) => ({ ...tuple, seenHead: tuple.cursor })),
  'purge-floor-skipped': resumesWith((producer, reader, tuple) => {
    const cursor = Math.max(tuple.cursor, producer.purgeRevision(reader));
    return { ...tuple, cursor, seenHead: Math.max(tuple.seenHead, cursor) };
  }),
};

/** The rule gets a tuple that satisfies it, whatever tuple the consumer has sent. */
function resumesWith(satisfied: (producer: FeedProducer, reader: Reader, tuple: ResumeTuple) => ResumeTuple): Canary {
  return {
    break() {
      const { resumable } = FeedProducer.prototype;
      FeedProducer.prototype.resumable = function (reader, tuple) {
        return resumable.call(this, reader, tuple.epoch === '' ? tuple : satisfied(this, reader, tuple));
      };
    },
  };
}
