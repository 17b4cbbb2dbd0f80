/** Rules of what is told of many, taken away: of states, of labels, of what is gone. */
import type { Content } from '../../../core/feed/feed.ts';
import { FeedProducer } from '../../../core/feed/producer.ts';
import { SegmentTree } from '../../../core/summary/segment-tree.ts';
import { LabelSummaryPublisher } from '../../../relay/children/label-summary-publisher.ts';
import type { Canaries } from './canary.ts';
import { forgetRow } from './feeds.ts';

interface Gone {
  readonly content: Content;
  readonly keyHash: Uint8Array;
  readonly originRevision: number;
}

export const summaryCanaries: Canaries = {
  'child-merged-twice': {
    break() {
      // What a child said before stays beside what it says now.
      const { set } = SegmentTree.prototype;
      SegmentTree.prototype.set = function (key, value) {
        const before = this.get(key);
        if (before !== undefined) set.call(this, `${key} before`, before);
        set.call(this, key, value);
      };
    },
  },
  'new-label-untold': {
    break() {
      // What a node told at its start is what its parent prunes by.
      LabelSummaryPublisher.prototype.publish = () => undefined;
    },
  },
  'deleted-comes-again': {
    break() {
      const { remove } = FeedProducer.prototype;
      const gone = new WeakMap<FeedProducer, Gone>();
      FeedProducer.prototype.remove = function (t, keyHash, originRevision) {
        const row = this.get(t, keyHash);
        const content = row?.content && this.content(t, row.content);
        const removed = remove.call(this, t, keyHash, originRevision);
        // What went before is there again when the next one goes, as it was.
        const before = gone.get(this);
        if (before && this.get(t, before.keyHash)?.content === undefined) {
          forgetRow(t, this.id, before.keyHash);
          this.put(t, before.content, before.originRevision);
        }
        if (row && content?.key.startsWith('o/'))
          gone.set(this, { content, keyHash, originRevision: row.originRevision });
        return removed;
      };
    },
  },
};
