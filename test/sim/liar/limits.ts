/** Frames at the limits that lies.ts leaves out: each needs another one before it, a session in another state, or is large. */
import { type Entry, Feed, type Frame, RangeAnswer_Kind, type Welcome } from '../../../core/wire/generated/mesh.ts';
import { ackOf, batchOf, entryOf, type Known, type Lie, pieceOf, replyOf, requestOf, whole } from './lies.ts';

const none = Buffer.alloc(0);
/** Of a feed nothing is known to be in flight: more than the credit that is given, 4 MiB, and one message. */
const [floodBatches, floodBytes] = [5, 2_500_000];
/** Two beats of these are more sources than a child keeps. */
const marksOfBeat = 2_500;

export function limitLiesOf(side: 'child' | 'parent', known: Known): readonly Lie[] {
  const out = side === 'child' ? Feed.FEED_UP : Feed.FEED_DOWN;
  const back = side === 'child' ? Feed.FEED_DOWN : Feed.FEED_UP;
  const { cursor } = known;
  const ends = (name: string, ...frames: Frame[]): Lie => ({ name, frames, session: 'ends' });
  const either = (name: string, ...frames: Frame[]): Lie => ({ name, frames, session: 'either' });
  const written = aheadOf(out, known, 0, entryOf('zz/unknown', cursor + 2));
  const answer = (kind: number) => replyOf(out, { answers: [{ kind, range: undefined, parts: [], items: [] }] });
  const backwards = { ...whole(), from: none, to: none };
  return [
    ends('an acknowledgement beyond the head, of no epoch', ackOf(back, 2 ** 47, none)),
    ends('a piece behind a gap that is large', pieceOf(out, Buffer.alloc(16, 9), 8_192, 20_000, 4_096)),
    ends('a request for ranges that overlap', requestOf(back, [whole(), whole()])),
    ends('a request for a range of nothing', requestOf(back, [backwards])),
    ends('the same range, and none', answer(RangeAnswer_Kind.KIND_SAME)),
    ends('a list of no range', answer(RangeAnswer_Kind.KIND_LIST)),
    either(
      'a request while the answer is flushed',
      written,
      ...Array.from({ length: 4 }, () => requestOf(back, [whole()])),
    ),
    either('more than was credited', ...floodOf(out, known)),
    ...(side === 'parent' ? [ends('watermarks of too many sources', marksOf(0), marksOf(marksOfBeat))] : []),
  ];
}

/** Of a parent with which the child does not go on where it was. */
export function earlyLies(welcome: Welcome): Lie[] {
  const known = { epoch: welcome.downEpoch, incarnation: welcome.downIncarnation, cursor: 0, path: '' };
  const greeting: Frame = { frame: { $case: 'welcome', value: { ...welcome, downResumes: false, ready: false } } };
  const batch = batchOf(Feed.FEED_DOWN, known, []);
  return [{ name: 'a batch before anything was asked', frames: [greeting, batch], session: 'ends' }];
}

function floodOf(feed: Feed, known: Known): Frame[] {
  const body = Buffer.alloc(floodBytes, 1);
  return Array.from({ length: floodBatches }, (_, i) =>
    aheadOf(feed, known, i, entryOf(`zz/flood${i}`, known.cursor + 2 + i, { body })),
  );
}

/**
 * Beside the order of the feed, so that the other one's cursor does not move: it would pass over what the node that is lied for has to say, by the authority
 * that a producer has. With this head, the feed can't go on at that node.
 */
function aheadOf(feed: Feed, known: Known, i: number, entry: Entry): Frame {
  const from = known.cursor + 1 + i;
  return batchOf(feed, known, [entry], { from, to: from + 1, head: 2 ** 40, ahead: true });
}

function marksOf(first: number): Frame {
  const watermarks = Array.from({ length: marksOfBeat }, (_, i) => ({ source: `center.s${first + i}`, revision: 1 }));
  const value = { sequence: 1, head: 0, purgeRevision: 0, rootWatermark: 0, rootAgeMs: 0, ready: true, watermarks };
  return { frame: { $case: 'beat', value: { ...value, digest: undefined } } };
}
