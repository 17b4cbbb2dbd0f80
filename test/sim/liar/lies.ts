/** Frames that break the protocol, at its limits and beyond, and valid frames that only look invalid. docs/protocol.md defines the outcome of each. */
import { hash128 } from '../../../core/object/hash.ts';
import {
  type Entry,
  Feed,
  type Frame,
  type Hello,
  type PrefixAnswer,
  type PrefixAnswer_Kind,
  type PrefixSummary,
} from '../../../core/wire/generated/mesh.ts';

/** What a liar knows: the frames that it has received in its session, and the rows of its peer. */
export interface Known {
  readonly path: string;
  /** The feed that the liar produces, with the position that the other side has. */
  readonly epoch: Buffer;
  readonly incarnation: Buffer;
  readonly cursor: number;
  /** The key of an object that the other side has. */
  readonly object?: { readonly key: string; readonly originRevision: number };
}

export interface Lie {
  readonly name: string;
  readonly frames: readonly Frame[];
  /** `ends`: the session has to end. `stays`: the session must not end. `either`: the outcome depends on the moment. */
  readonly session: 'ends' | 'stays' | 'either';
}

const tooLarge = 2 ** 50;
/** A revision that is thousands of years ahead of any clock. */
const farAhead = 2 ** 47;
const none = Buffer.alloc(0);
const some = Buffer.alloc(16, 7);
const someSeed = some.subarray(0, 8);

export function liesOf(side: 'child' | 'parent', known: Known): readonly Lie[] {
  const out = side === 'child' ? Feed.FEED_UP : Feed.FEED_DOWN;
  const back = side === 'child' ? Feed.FEED_DOWN : Feed.FEED_UP;
  const next = known.cursor + 1;
  const batch: BatchOf = (entries, change) => batchOf(out, known, entries, change);
  const ends = (name: string, ...frames: Frame[]): Lie => ({ name, frames, session: 'ends' });
  const stays = (name: string, ...frames: Frame[]): Lie => ({ name, frames, session: 'stays' });
  const either = (name: string, ...frames: Frame[]): Lie => ({ name, frames, session: 'either' });
  const entryWith = (change: Partial<Entry>) => batch([entryOf('zz/unknown', next, change)]);
  return [
    ends('an acknowledgement beyond the head', ackOf(back, 2 ** 47)),
    ends('an acknowledgement of its own feed', ackOf(out, 1)),
    ends('an acknowledgement of no feed', ackOf(Feed.FEED_UNSPECIFIED, 1)),
    ends('a batch of the other feed', batch([], { feed: back })),
    ends('a batch that goes backwards', batch([], { from: next, to: known.cursor })),
    ends('a batch beyond its head', batch([], { head: known.cursor })),
    ends('a batch behind a gap', batch([], { from: next + 5, to: next + 6, head: next + 6 })),
    either('a batch of another epoch', batch([], { epoch: some })),
    either('a batch ahead of nothing', batch([entryOf('zz/ahead', next)], { ahead: true })),
    either('a batch of unknown keys', batch([entryOf('zz/unknown', next)])),
    stays('a batch that was there', batch([], { from: 0, to: Math.min(1, known.cursor), head: known.cursor })),
    ends('a short key hash', entryWith({ keyHash: Buffer.alloc(3) })),
    ends('a key that is not its hash', entryWith({ keyHash: some })),
    ends('a revision beyond six bytes', entryWith({ revision: tooLarge })),
    ends('an origin revision beyond six bytes', entryWith({ originRevision: tooLarge })),
    ends('a long key', entryWith({ key: `zz/${'k'.repeat(1_600)}` })),
    ends('a content that did not come', entryWith({ key: '', pieces: some })),
    ends('a short content hash', entryWith({ key: '', pieces: Buffer.alloc(5) })),
    ends('a piece of nothing', pieceOf(out, some, 0, 10, 0)),
    ends('a piece of too much', pieceOf(out, some, 0, tooLarge, 10)),
    ends('a piece behind its end', pieceOf(out, some, 5, 10, 10)),
    ends('a piece behind a gap', pieceOf(out, Buffer.alloc(16, 9), 500, 1_000, 10)),
    ends('a piece with a short hash', pieceOf(out, Buffer.alloc(4), 0, 10, 5)),
    ends(
      'pieces that are not their hash',
      pieceOf(out, some, 0, 8_192, 4_096),
      pieceOf(out, some, 4_096, 8_192, 4_096),
    ),
    stays(
      'a piece twice, of many contents',
      ...Array.from({ length: 40 }, (_, i) => pieceOf(out, Buffer.alloc(16, i + 20), 0, 9_000, 4_096)),
    ),
    stays(
      'a piece again',
      pieceOf(out, Buffer.alloc(16, 11), 0, 9_000, 4_096),
      pieceOf(out, Buffer.alloc(16, 11), 0, 9_000, 4_096),
    ),
    ends('credit for what was not sent', creditOf(0, back, 10 ** 9)),
    stays('credit of a stream', creditOf(5, back, 10 ** 9)),
    ends('credit of its own feed', creditOf(0, out, 1)),
    ends('an answer that nobody asked for', replyOf(out, {})),
    ends('an answer of nothing', replyOf(out, { answers: [answerOf(0)] })),
    ends('a list that is too long', replyOf(out, { answers: [{ ...answerOf(3), rows: Buffer.alloc(70 * 30, 1) }] })),
    ends('an answer about a prefix that nobody asked for', replyOf(out, { answers: [answerOf(1)] })),
    ends('a split of too few parts', replyOf(out, { answers: [{ ...answerOf(2), parts: some }] })),
    ends('a list of half a row', replyOf(out, { answers: [{ ...answerOf(3), rows: some }] })),
    ends('a request with a short seed', requestOf(back, [whole()], [], some.subarray(0, 3))),
    ends('a request for a prefix of no digits', prefixRequestOf(back, [16])),
    ends('a request for a prefix that is too long', prefixRequestOf(back, Array(33).fill(0))),
    ends('a request for prefixes that overlap', prefixRequestOf(back, [1, 2], [3], [1])),
    ends('a request for too many prefixes', requestOf(back, Array.from({ length: 300 }, whole))),
    ends('a request with a short fingerprint', requestOf(back, [{ ...whole(), fingerprint: Buffer.alloc(2) }])),
    ends('a request for a short key hash', requestOf(back, [], [Buffer.alloc(2)])),
    ends(
      'a request for too many keys',
      requestOf(
        back,
        [],
        Array.from({ length: 300 }, () => some),
      ),
    ),
    either('requests one after the other', ...Array.from({ length: 20 }, () => requestOf(back, [whole()], [some]))),
    either('a request about its own rows', requestOf(back, [{ ...whole(), fingerprint: some.subarray(0, 8) }])),
    either('a digest of other rows', beatOf(known.cursor, { revision: known.cursor, count: 77, sum: some })),
    stays('a digest that is none', beatOf(known.cursor, { revision: known.cursor, count: 77, sum: Buffer.alloc(3) })),
    stays('a head beyond everything', beatOf(2 ** 47)),
    stays('a root older than time', beatOf(known.cursor, undefined, Number.MAX_SAFE_INTEGER)),
    ends('a hello again', { frame: { $case: 'hello', value: helloOf(known.path) } }),
    ends('a refusal in the middle', {
      frame: { $case: 'retry', value: { afterMs: 1, reason: 'busy', message: '', bootCounter: 0, attachSequence: 0 } },
    }),
    ends('a goodbye for years', { frame: { $case: 'goodbye', value: { reason: 'so long', returnAfterMs: 2 ** 40 } } }),
    stays('frames of a later version', { frame: undefined }, { frame: { $case: 'fin', value: { stream: 3 } } }),
    stays('data on the session', { frame: { $case: 'data', value: { stream: 4, data: some } } }),
    stays('a reset of nothing', resetOf(9)),
    stays('lists of many streams', censusOf(1_000), censusOf(1_000)),
    stays('an open that makes no sense', ...opens(side)),
    stays(
      'opens without end',
      ...Array.from({ length: 900 }, (_, i) =>
        openOf(2 * i + (side === 'parent' ? 1_000 : 1_001), { deadlineMs: 200 }),
      ),
    ),
    ...(side === 'child'
      ? childLies(known, batch, next, ends, either, out)
      : parentLies(known, batch, next, ends, stays, either)),
  ];
}

type MakeLie = (name: string, ...frames: Frame[]) => Lie;
type BatchOf = (entries: readonly Entry[], change?: object) => Frame;

function childLies(known: Known, batch: BatchOf, next: number, ends: MakeLie, either: MakeLie, out: Feed): Lie[] {
  const of = (key: string, attributes: object | string, body = '') =>
    batch([entryOf(key, next, textsOf(attributes, body))]);
  return [
    ends('a second resume of its feed', resumeOf(out, true), resumeOf(out, true)),
    either('rows of another node', of('node/elsewhere', {})),
    either('states that are no JSON', of('state/center.retail//configmaps/w/o', 'nonsense', '{')),
    either('a sum that is none', of('partial/center.retail/first', {}, '{"counts":{"expected":-1}}')),
    either('labels that are none', of('labels', { keys: 7 })),
    either('labels of another place', of('labels', { leaves: 1, sets: [{ ...everywhere, leaves: 1 }] })),
    either('labels that leave out what they are', of('labels', { leaves: 9, keys: {}, moreKeys: true })),
    either('objects that nobody asked for', ...unaskedOf(known, batch, next)),
    either('a space at the end of all revisions', of('seen/center.retail', { revision: 2 ** 48 - 1 })),
    either('an entry that only a parent may send', of('tree', { path: 'x', labels: {} })),
  ];
}

/** Labels that match everything, at the path of another node. */
const everywhere = {
  labels: { env: 'prod', tier: 'store', 'tree.banyan.io/1': 'elsewhere', 'tree.banyan.io/path': 'elsewhere' },
  properties: {},
  targetLabels: {},
};
const unasked = 8;

/** Valid entries about objects for which no placement asks. */
function unaskedOf({ path }: Known, batch: BatchOf, next: number): Frame[] {
  const entries = Array.from({ length: unasked }, (_, i) => {
    const body = { metadata: { name: `o${i}`, namespace: 'w-unasked' }, apiVersion: 'v1', kind: 'ConfigMap' };
    const attributes = { refs: ['first'], namespaced: true, returnTo: 'Center' };
    const key = `up/center.retail/${path}//configmaps/w-unasked/o${i}`;
    return entryOf(key, next, textsOf(attributes, JSON.stringify(body)));
  });
  return [batch(entries)];
}

function parentLies(known: Known, batch: BatchOf, next: number, ends: MakeLie, stays: MakeLie, either: MakeLie): Lie[] {
  const of = (key: string, attributes: object | string, body = '') =>
    batch([entryOf(key, next, textsOf(attributes, body))]);
  const { object } = known;
  const poisonOf = (key: string, originRevision: number) =>
    batch([entryOf(key, next, { ...textsOf('{"refs":7}', 'x'), originRevision })]);
  return [
    ends('an entry that only a child may report', of(`node/${known.path}`, {})),
    ends('the tree as another node sees it', of('tree', { path: `${known.path}x`, labels: {} })),
    ends(
      'an object of a space that is not above',
      of(
        'o/elsewhere.far.retail//configmaps/w/o',
        { uid: '', created: '', generation: 1, refs: [] },
        JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o', namespace: 'w' } }),
      ),
    ),
    either('attributes that are no object', of('p/center.retail/first', 'nonsense')),
    either('a release of nothing', of('approval/x', { token: 'x' })),
    ...(object
      ? [
          stays('poison in the place of an object', poisonOf(object.key, object.originRevision)),
          stays('poison as new as no space can have made it', poisonOf(object.key, farAhead)),
        ]
      : []),
  ];
}

// --------------------------------------------------------------------------------------------------------- frames

export function helloOf(path: string): Hello {
  const down = { epoch: none, incarnation: none, cursor: 0, seenHead: 0 };
  const numbers = {
    versionMin: 1,
    versionMax: 3,
    bootCounter: 1,
    attachSequence: 1,
    downCreditBytes: 0,
    maxFrameBytes: 0,
  };
  return {
    ...numbers,
    path,
    role: 'agent',
    bootNonce: some,
    down,
    software: 'liar',
    attachedNonce: none,
    held: [],
    transport: 'lies',
  };
}

export function resumeOf(feed: Feed, resumes: boolean): Frame {
  return { frame: { $case: 'resume', value: { feed, resumes, epoch: none, incarnation: none } } };
}

/** The next batch of the feed that the liar produces. */
export function batchOf(
  feed: Feed,
  { epoch, incarnation, cursor }: Known,
  entries: readonly Entry[],
  change = {},
): Frame {
  const next = cursor + 1;
  const place = { from: cursor, to: next, head: next, epoch, incarnation, ahead: false };
  return { frame: { $case: 'batch', value: { feed, entries: [...entries], ...place, ...change } } };
}

export function entryOf(key: string, revision: number, change: Partial<Entry> = {}): Entry {
  const keyHash = Buffer.from(hash128(key));
  return {
    key,
    keyHash,
    revision,
    originRevision: 0,
    tombstone: false,
    attributes: Buffer.from('{}'),
    body: none,
    pieces: none,
    ...change,
  };
}

function textsOf(attributes: object | string, body: string): Pick<Entry, 'attributes' | 'body'> {
  const json = typeof attributes === 'string' ? attributes : JSON.stringify(attributes);
  return { attributes: Buffer.from(json), body: Buffer.from(body) };
}

export function ackOf(feed: Feed, cursor: number, epoch = some): Frame {
  return { frame: { $case: 'ack', value: { feed, cursor, epoch } } };
}

export function pieceOf(feed: Feed, contentHash: Buffer, offset: number, total: number, bytes: number): Frame {
  return { frame: { $case: 'piece', value: { feed, contentHash, offset, total, data: Buffer.alloc(bytes, 1) } } };
}

function creditOf(stream: number, feed: Feed, bytes: number): Frame {
  return { frame: { $case: 'credit', value: { stream, feed, bytes } } };
}

function answerOf(kind: PrefixAnswer_Kind): PrefixAnswer {
  return { kind, parts: none, rows: none };
}

export function replyOf(feed: Feed, change: object): Frame {
  const empty = { answers: [], entries: [] };
  const value = { feed, round: 1, ...empty, head: 1, epoch: some, incarnation: some, ...change };
  return { frame: { $case: 'reconcileReply', value } };
}

export function requestOf(feed: Feed, prefixes: PrefixSummary[], wanted: Buffer[] = [], seed = someSeed): Frame {
  return { frame: { $case: 'reconcileRequest', value: { feed, round: 1, seed, prefixes, wanted } } };
}

/** A request for prefixes, given by their digits. */
export function prefixRequestOf(feed: Feed, ...prefixes: number[][]): Frame {
  return requestOf(
    feed,
    prefixes.map((prefix) => ({ prefix: Buffer.from(prefix), fingerprint: none })),
  );
}

/** The prefix that covers all rows. */
export function whole(): PrefixSummary {
  return { prefix: none, fingerprint: none };
}

function beatOf(head: number, digest?: { revision: number; count: number; sum: Buffer }, rootAgeMs = 0): Frame {
  const value = {
    sequence: 1,
    head,
    purgeRevision: 0,
    rootAgeMs,
    ready: false,
    watermarks: [],
    digest,
  };
  return { frame: { $case: 'beat', value } };
}

function resetOf(stream: number): Frame {
  return {
    frame: {
      $case: 'reset',
      value: { stream, code: 99, message: 'x'.repeat(5_000), at: 'y'.repeat(5_000), sinceMs: 7 },
    },
  };
}

function censusOf(count: number): Frame {
  return { frame: { $case: 'census', value: { streams: Array.from({ length: count }, (_, i) => 50_000 + i) } } };
}

function openOf(stream: number, change: object = {}): Frame {
  const value = {
    stream,
    path: 'nowhere',
    kind: 'echo',
    deadlineMs: 1_000,
    header: none,
    voucher: '',
    user: 'liar',
    groups: ['system:masters'],
    bulk: false,
    creditBytes: 1_000,
    ...change,
  };
  return { frame: { $case: 'open', value } };
}

/** Opens with each field beyond its limit, and with ids that were used before or that belong to the other side. */
function opens(side: 'child' | 'parent'): Frame[] {
  const first = side === 'parent' ? 100 : 101;
  const wrong: object[] = [
    { path: 'x'.repeat(2_000) },
    { path: 'Not:A:Path' },
    { voucher: 'Not:A:Path' },
    { voucher: 'system' },
    { kind: '' },
    { deadlineMs: 0 },
    { deadlineMs: tooLarge },
    { header: Buffer.alloc(70_000) },
    { user: '' },
    { user: 'u'.repeat(2_000) },
    { groups: Array.from({ length: 300 }, () => 'g') },
    { groups: ['g'.repeat(2_000)] },
    { creditBytes: 0 },
    { creditBytes: tooLarge },
    { groups: [] },
    { path: '' },
  ];
  return [...wrong.map((change, i) => openOf(first + 2 * i, change)), openOf(first), openOf(first + 1)];
}
