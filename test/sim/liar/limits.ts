/** Lies at the limits that lies.ts does not have: each needs another frame before it, or a session in another state, or is large. */
import { hash128 } from '../../../core/object/hash.ts';
import { type Entry, Feed, type Frame, type Welcome } from '../../../core/wire/generated/mesh.ts';
import { ackOf, batchOf, entryOf, type Known, type Lie, pieceOf, prefixRequestOf, requestOf, whole } from './lies.ts';

const none = Buffer.alloc(0);
/** More bytes than the credit of 4 MiB and one message, on a feed of which nothing is known to be in flight. */
const [floodBatches, floodBytes] = [5, 2_500_000];
/** More rejected entries than a status names. */
const poisoned = 8;
const poison = { attributes: Buffer.from('{"refs":7}'), body: Buffer.from('x') };
/** Two beats with this many sources have more sources than a child keeps. */
const marksOfBeat = 2_500;

export function limitLiesOf(side: 'child' | 'parent', known: Known): readonly Lie[] {
  const out = side === 'child' ? Feed.FEED_UP : Feed.FEED_DOWN;
  const back = side === 'child' ? Feed.FEED_DOWN : Feed.FEED_UP;
  const { cursor } = known;
  const ends = (name: string, ...frames: Frame[]): Lie => ({ name, frames, session: 'ends' });
  const either = (name: string, ...frames: Frame[]): Lie => ({ name, frames, session: 'either' });
  const written = aheadOf(out, known, 0, entryOf('zz/unknown', cursor + 2));
  return [
    ends('an acknowledgement beyond the head, of no epoch', ackOf(back, 2 ** 47, none)),
    ends('a piece behind a gap that is large', pieceOf(out, Buffer.alloc(16, 9), 8_192, 20_000, 4_096)),
    ends('a request for one prefix twice', requestOf(back, [whole(), whole()])),
    either(
      'a request while the answer is flushed',
      written,
      ...Array.from({ length: 4 }, () => requestOf(back, [whole()])),
    ),
    either('more than was credited', ...floodOf(out, known)),
    either('more poison than is shown', poisonOf(out, known, side)),
    either('a request for single rows', ...singleRequestsOf(back, known)),
    ends('a request for too many prefixes', prefixRequestOf(back, ...manyPrefixes())),
    ends(
      'a request with a short fingerprint of a prefix',
      requestOf(back, [{ prefix: none, fingerprint: Buffer.alloc(3) }]),
    ),
    ...(side === 'parent' ? [ends('watermarks of too many sources', marksOf(0), marksOf(marksOfBeat))] : []),
  ];
}

/** Lies of a parent at which the child does not resume. */
export function earlyLies(welcome: Welcome): Lie[] {
  const known = { epoch: welcome.downEpoch, incarnation: welcome.downIncarnation, cursor: 0, path: '' };
  const welcomeFrame: Frame = { frame: { $case: 'welcome', value: { ...welcome, downResumes: false, ready: false } } };
  const batch = batchOf(Feed.FEED_DOWN, known, []);
  return [{ name: 'a batch before anything was asked', frames: [welcomeFrame, batch], session: 'ends' }];
}

function floodOf(feed: Feed, known: Known): Frame[] {
  const body = Buffer.alloc(floodBytes, 1);
  return Array.from({ length: floodBatches }, (_, i) =>
    aheadOf(feed, known, i, entryOf(`zz/flood${i}`, known.cursor + 2 + i, { body })),
  );
}

/**
 * A batch ahead of the feed, so that the cursor of the peer does not move. Otherwise the peer would skip later entries of the real node, because a producer
 * has the authority to do this. With this head, the feed can't continue at that node.
 */
function aheadOf(feed: Feed, known: Known, i: number, entry: Entry): Frame {
  const from = known.cursor + 1 + i;
  return batchOf(feed, known, [entry], { from, to: from + 1, head: 2 ** 40, ahead: true });
}

/** Entries with keys that no node has in a valid form. */
function poisonOf(feed: Feed, known: Known, side: 'child' | 'parent'): Frame {
  const from = known.cursor + 1;
  const entries = Array.from({ length: poisoned }, (_, i) => {
    const object = `center.retail//configmaps/w-poison/p${i}`;
    return entryOf(side === 'parent' ? `o/${object}` : `state/${object}`, from + 1 + i, poison);
  });
  return batchOf(feed, known, entries, { from, to: from + poisoned, head: 2 ** 40, ahead: true });
}

/** Requests for rows that most feeds have, by all digits of their hashes. */
function singleRequestsOf(feed: Feed, { path, object }: Known): Frame[] {
  return ['tree', 'labels', `node/${path}`, ...(object ? [object.key] : [])].map((key) => {
    const digits = Array.from(Buffer.from(hash128(key)).toString('hex'), (digit) => Number.parseInt(digit, 16));
    return prefixRequestOf(feed, digits);
  });
}

/** One more prefix than a request may have. */
function manyPrefixes(): number[][] {
  return Array.from({ length: 257 }, (_, i) => [i >> 8, (i >> 4) & 15, i & 15]);
}

function marksOf(first: number): Frame {
  const watermarks = Array.from({ length: marksOfBeat }, (_, i) => ({ source: `center.s${first + i}`, revision: 1 }));
  const value = { sequence: 1, head: 0, purgeRevision: 0, rootAgeMs: 0, ready: true, watermarks };
  return { frame: { $case: 'beat', value: { ...value, digest: undefined } } };
}
