/** Canaries that remove rules of a node with its parent and children. */
import { FeedProducer } from '../../../core/feed/producer.ts';
import { Gather } from '../../../relay/gather/status/gather.ts';
import { Readiness } from '../../../relay/node/readiness.ts';
import type { Canaries } from './canary.ts';

export const treeCanaries: Canaries = {
  'unready-trusted': {
    break() {
      Readiness.prototype.down = () => true;
      Object.defineProperty(Readiness.prototype, 'up', { get: () => true });
    },
  },
  'removed-child-welcomed': {
    break() {
      const { isDropped, resumable } = FeedProducer.prototype;
      FeedProducer.prototype.isDropped = () => false;
      FeedProducer.prototype.resumable = function (reader, tuple) {
        return !isDropped.call(this, reader) && resumable.call(this, reader, tuple);
      };
    },
  },
  'silence-not-noticed': {
    break() {
      // A child's contribution never changes, whatever the child reports, and however long the child is disconnected.
      Gather.prototype.childChanged = () => false;
    },
  },
};
