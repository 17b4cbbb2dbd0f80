/** Canaries that remove rules about sums: of states, of labels, and of deletions. */
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
      // The old report of a child stays in the sum, beside its new report.
      const { set } = SegmentTree.prototype;
      SegmentTree.prototype.set = function (key, value) {
        const before = this.get(key);
        if (before !== undefined) set.call(this, `${key} before`, before);
        set.call(this, key, value);
      };
    },
  },
  'new-label-not-reported': {
    break() {
      // The node reports only the labels that it had at its start, and its parent decides by them which placements the node gets.
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
        // When an object is removed, the object that was removed before it appears again unchanged.
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
