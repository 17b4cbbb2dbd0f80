/** Frames that no correct process sends. */
import { Feed, type Frame, ReconcileReply } from '../../core/wire/generated/mesh.ts';

const other = Buffer.alloc(16, 0xee);

/** `epoch` belongs to the feed that the receiver produces, in hex. */
export function falseFrameOf(name: string, numbers: readonly number[], epoch: string): Frame {
  const [first = 0, second = 0] = numbers;
  const feeds = { feed: Feed.FEED_DOWN, epoch: Buffer.from(epoch, 'hex') };
  switch (name) {
    case 'ack':
      return { frame: { $case: 'ack', value: { ...feeds, cursor: first } } };
    case 'ack-of-another-epoch':
      return { frame: { $case: 'ack', value: { ...feeds, epoch: other, cursor: first } } };
    case 'credit':
      return { frame: { $case: 'credit', value: { stream: 0, feed: Feed.FEED_DOWN, bytes: first } } };
    case 'batch': {
      const value = { feed: Feed.FEED_DOWN, entries: [], from: first, to: second, head: second, ahead: false };
      return { frame: { $case: 'batch', value: { ...value, epoch: other, incarnation: other } } };
    }
    case 'reply': {
      const nothing = ReconcileReply.decode(new Uint8Array(0));
      const value = { ...nothing, feed: Feed.FEED_DOWN, round: first, epoch: other, incarnation: other };
      return { frame: { $case: 'reconcileReply', value } };
    }
    default:
      throw new Error(`"${name}" is none of the lies: ack, ack-of-another-epoch, credit, batch, reply`);
  }
}
