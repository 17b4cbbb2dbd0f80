/** What a liar answers to whoever reconciles. */
import {
  Feed,
  type Frame,
  type PrefixAnswer,
  RangeAnswer_Kind,
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

const listed: PrefixAnswer = { kind: RangeAnswer_Kind.KIND_LIST, parts: none, rows: row };
const same: PrefixAnswer = { kind: RangeAnswer_Kind.KIND_SAME, parts: none, rows: none };

/** In the form that is asked for, so that it is believed for a while: everything differs, or there are rows that never come. */
function believed({ prefixes, round }: ReconcileRequest, chance: Chance): Frame {
  const answers = [splitOf(chance), listed, same];
  const prefixAnswers = Array.from({ length: prefixes.length }, () => chance.of(answers));
  return replyOf({ round }, { prefixAnswers, head: chance.below(2 ** 40) });
}

/** Whatever is asked. */
export const anything: Answering = (request, chance) => {
  if (request.prefixes.length > 0 && chance.is(0.8)) return believed(request, chance);
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
  // Without end.
  (request, chance) => replyOf(request, { prefixAnswers: request.prefixes.map(() => splitOf(chance)) }),
];
