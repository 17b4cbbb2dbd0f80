/** The answers of a liar to a node that reconciles. */
import {
  Feed,
  type Frame,
  type PrefixAnswer,
  PrefixAnswer_Kind,
  type ReconcileRequest,
} from '../../../core/wire/generated/mesh.ts';
import type { Chance } from '../plan/chance.ts';
import { entryOf } from './lies.ts';

type Answering = (request: ReconcileRequest, chance: Chance) => Frame;

const none = Buffer.alloc(0);
/** A row that never existed. */
const row = Buffer.alloc(30, 8);

function replyOf({ round }: Pick<ReconcileRequest, 'round'>, change: object): Frame {
  const empty = { answers: [], entries: [], head: 1 };
  const place = { epoch: Buffer.alloc(16, 3), incarnation: Buffer.alloc(16, 4) };
  return { frame: { $case: 'reconcileReply', value: { feed: Feed.FEED_DOWN, round, ...empty, ...place, ...change } } };
}

function splitOf(chance: Chance): PrefixAnswer {
  const parts = Buffer.from(Array.from({ length: 128 }, () => chance.below(256)));
  return { kind: PrefixAnswer_Kind.KIND_SPLIT, parts, rows: none };
}

/** A list of rows with this prefix that never existed. Sixteen such lists have more rows than a request can want. */
function listOfMany(prefix: Uint8Array, chance: Chance): PrefixAnswer {
  const rows = Array.from({ length: 20 }, () => {
    const digits = Array.from({ length: 32 }, (_, i) => (prefix[i] ?? chance.below(16)).toString(16));
    return Buffer.concat([Buffer.from(digits.join(''), 'hex'), Buffer.alloc(14, 1)]);
  });
  return { kind: PrefixAnswer_Kind.KIND_LIST, parts: none, rows: Buffer.concat(rows) };
}

const listed: PrefixAnswer = { kind: PrefixAnswer_Kind.KIND_LIST, parts: none, rows: row };
const same: PrefixAnswer = { kind: PrefixAnswer_Kind.KIND_SAME, parts: none, rows: none };

/** Answers to the asked prefixes. The consumer accepts them for a while: everything differs, or there are rows that are never sent. */
function believed({ prefixes, round }: ReconcileRequest, chance: Chance): Frame {
  const some = [splitOf(chance), listed, same];
  const answers = Array.from({ length: prefixes.length }, () => chance.of(some));
  return replyOf({ round }, { answers, head: chance.below(2 ** 40) });
}

/** Answers that do not depend on the request. */
export const anything: Answering = (request, chance) => {
  if (request.prefixes.length > 0 && chance.is(0.8)) return believed(request, chance);
  const short = { ...same, kind: PrefixAnswer_Kind.KIND_SPLIT, parts: Buffer.alloc(16, 5) };
  const answers = [chance.of([short, listed, same])];
  return replyOf({ round: chance.below(9) }, { answers, head: chance.below(2 ** 40) });
};

function lists(request: ReconcileRequest, entries: readonly object[]): Frame {
  const answers = request.prefixes.map(() => listed);
  return replyOf(request, { answers, entries: request.wanted.length === 0 ? [] : [...entries] });
}

/** The ways to answer. One of them is chosen for a session. */
export const answerings: readonly Answering[] = [
  anything,
  // Too few answers.
  (request) => replyOf(request, {}),
  // No entries, although the lists named some.
  (request) => lists(request, []),
  // An entry that nobody wants.
  (request) => lists(request, [entryOf('zz/not-wanted', 1)]),
  // More entries than a consumer can want at once.
  (request, chance) => {
    const answers = request.prefixes.map(({ prefix }) =>
      prefix.length === 0 ? splitOf(chance) : listOfMany(prefix, chance),
    );
    return replyOf(request, { answers });
  },
  // Answers with an epoch that is missing.
  (request) => replyOf(request, { answers: request.prefixes.map(() => same), epoch: none }),
  // Answers of an unknown kind.
  (request) => replyOf(request, { answers: request.prefixes.map(() => ({ ...same, kind: 9 })) }),
  // Splits without an end.
  (request, chance) => replyOf(request, { answers: request.prefixes.map(() => splitOf(chance)) }),
];
