/** What a liar answers to whoever reconciles. */
import {
  Feed,
  type Frame,
  type PrefixAnswer,
  type RangeAnswer,
  RangeAnswer_Kind,
  type RangeSummary,
  type ReconcileRequest,
} from '../../../core/wire/generated/mesh.ts';
import type { Chance } from '../plan/chance.ts';
import { entryOf } from './lies.ts';

type Answering = (request: ReconcileRequest, chance: Chance) => Frame;

const none = Buffer.alloc(0);
/** Of a row that nobody ever had. */
const row = Buffer.alloc(30, 8);

function replyOf({ round }: Pick<ReconcileRequest, 'round'>, change: object): Frame {
  const empty = { answers: [], prefixAnswers: [], entries: [], head: 1 };
  const place = { epoch: Buffer.alloc(16, 3), incarnation: Buffer.alloc(16, 4) };
  return { frame: { $case: 'reconcileReply', value: { feed: Feed.FEED_DOWN, round, ...empty, ...place, ...change } } };
}

function splitOf(chance: Chance): PrefixAnswer {
  const parts = Buffer.from(Array.from({ length: 128 }, () => chance.below(256)));
  return { kind: RangeAnswer_Kind.KIND_SPLIT, parts, rows: none };
}

/** Rows of this prefix that nobody ever had: of sixteen such lists more than are wanted at once. */
function listOfMany(prefix: Uint8Array, chance: Chance): PrefixAnswer {
  const rows = Array.from({ length: 20 }, () => {
    const digits = Array.from({ length: 32 }, (_, i) => (prefix[i] ?? chance.below(16)).toString(16));
    return Buffer.concat([Buffer.from(digits.join(''), 'hex'), Buffer.alloc(14, 1)]);
  });
  return { kind: RangeAnswer_Kind.KIND_LIST, parts: none, rows: Buffer.concat(rows) };
}

const listed: PrefixAnswer = { kind: RangeAnswer_Kind.KIND_LIST, parts: none, rows: row };
const same: PrefixAnswer = { kind: RangeAnswer_Kind.KIND_SAME, parts: none, rows: none };

/** In the form that is asked for, so that it is believed for a while: everything differs, or there are rows that never come. */
function believed({ prefixes, round }: ReconcileRequest, chance: Chance): Frame {
  const answers = [splitOf(chance), listed, same];
  const prefixAnswers = Array.from({ length: prefixes.length }, () => chance.of(answers));
  return replyOf({ round }, { prefixAnswers, head: chance.below(2 ** 40) });
}

/** The same in the older form, which is cut by bounds. */
function believedRanges({ ranges, round }: ReconcileRequest, chance: Chance): Frame {
  const answers = ranges.map((range) => chance.of([cutOf, listOf, sameAs])(range));
  return replyOf({ round }, { answers, head: chance.below(2 ** 40) });
}

function cutOf({ from, to }: RangeSummary): RangeAnswer {
  const number = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  const [low, high] = [number(from), to.length > from.length ? 1n << 128n : number(to)];
  const at = (i: number) => Buffer.from((low + ((high - low) * BigInt(i)) / 16n).toString(16).padStart(32, '0'), 'hex');
  const bounds = [from, ...Array.from({ length: 15 }, (_, i) => at(i + 1)), to];
  const parts = bounds.slice(1).map((end, i): RangeSummary => {
    return { from: Buffer.from(bounds[i]!), to: Buffer.from(end), count: 3, fingerprint: Buffer.alloc(16, 5) };
  });
  return { kind: RangeAnswer_Kind.KIND_SPLIT, range: undefined, parts, items: [] };
}

function listOf(range: RangeSummary): RangeAnswer {
  const items = [{ keyHash: range.from, contentHash: Buffer.alloc(16, 8), originRevision: 1 }];
  return { kind: RangeAnswer_Kind.KIND_LIST, range, parts: [], items };
}

function sameAs(range: RangeSummary): RangeAnswer {
  return { kind: RangeAnswer_Kind.KIND_SAME, range, parts: [], items: [] };
}

/** Whatever is asked. */
export const anything: Answering = (request, chance) => {
  if (request.prefixes.length > 0 && chance.is(0.8)) return believed(request, chance);
  if (request.ranges.length > 0 && chance.is(0.5)) return believedRanges(request, chance);
  const range = { from: Buffer.alloc(16), to: Buffer.alloc(17, 255), count: 3, fingerprint: Buffer.alloc(16, 5) };
  const items = [{ keyHash: Buffer.alloc(16, 8), contentHash: Buffer.alloc(16, 8), originRevision: 1 }];
  const list = { ...range, count: 1, fingerprint: none };
  const answers = [
    { kind: RangeAnswer_Kind.KIND_SPLIT, range: undefined, parts: [range, range], items: [] },
    { kind: RangeAnswer_Kind.KIND_LIST, range: list, parts: [], items },
    { kind: RangeAnswer_Kind.KIND_SAME, range, parts: [], items: [] },
  ];
  return replyOf({ round: chance.below(9) }, { answers: [chance.of(answers)], head: chance.below(2 ** 40) });
};

function lists(request: ReconcileRequest, entries: readonly object[]): Frame {
  const prefixAnswers = request.prefixes.map(() => listed);
  return replyOf(request, { prefixAnswers, entries: request.wanted.length === 0 ? [] : [...entries] });
}

/** One is chosen for a session. */
export const answerings: readonly Answering[] = [
  anything,
  // Too few.
  (request) => replyOf(request, {}),
  // Nothing of what was listed …
  (request) => lists(request, []),
  // … or something else.
  (request) => lists(request, [entryOf('zz/not-wanted', 1)]),
  // More than can be wanted at once.
  (request, chance) => {
    const prefixAnswers = request.prefixes.map(({ prefix }) =>
      prefix.length === 0 ? splitOf(chance) : listOfMany(prefix, chance),
    );
    return replyOf(request, { prefixAnswers });
  },
  // Of nobody.
  (request) => replyOf(request, { prefixAnswers: request.prefixes.map(() => same), epoch: none }),
  // Of a kind that there is not.
  (request) => replyOf(request, { prefixAnswers: request.prefixes.map(() => ({ ...same, kind: 9 })) }),
  // Without end, in either form.
  (request, chance) =>
    replyOf(request, {
      answers: request.ranges.map(cutOf),
      prefixAnswers: request.prefixes.map(() => splitOf(chance)),
    }),
];
