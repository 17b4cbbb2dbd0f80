/** Byte streams that somebody opens from one node to another while faults happen. */

import { streamsMax } from '../../../core/wire/codec/part-limits.ts';
import { type Step, spanMs } from './action.ts';
import type { Chance } from './chance.ts';
import { type PlannedNode, parentOf } from './tree.ts';

export interface PlannedTalk {
  /** The number of the talk in the plan. Both ends derive the bytes of the talk from it. */
  readonly number: number;
  /** `ping`: the request of `banyan ping`, made by the product's own code. */
  readonly kind: 'sim' | 'echo' | 'health' | 'no-such' | 'ping';
  readonly isAdministrator: boolean;
  readonly bulk: boolean;
  readonly deadlineMs: number;
  readonly there: TalkSide;
  readonly back: TalkSide;
  /** The behaviour of the asked node. */
  readonly taken: 'at-once' | 'late' | 'refused' | 'too-late' | 'never';
  readonly cancelled?: { readonly by: 'asker' | 'taker'; readonly afterMs: number };
}

/** One direction: the number of bytes, and the reader's pause after each part. */
export interface TalkSide {
  readonly bytes: number;
  readonly readMs: number;
}

const talksMax = 5;
/** The number of talks at once between the same two nodes: more than a session allows. */
const crowd = 270;
const pingBytesMax = 200_000;
/** The first number of pings. No other talk of a plan has these numbers; liars have their own (liars.ts). */
const firstPing = 20_000;

export function talksOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  if (!chance.is(0.3)) return [];
  const steps: Step[] = [];
  const add = (atMs: number, talk: PlannedTalk, node = chance.of(nodes).path, to = chance.of(nodes).path) =>
    steps.push({ atMs, action: { do: 'talk', node, to: chance.is(0.03) ? 'nowhere' : to, talk } });
  const count = 1 + chance.below(talksMax);
  for (let i = 0; i < count; i++) add(1_500 + chance.below(spanMs), talkOf(chance, i));
  if (!chance.is(0.03)) return steps;
  const [atMs, from, to] = [1_500 + chance.below(spanMs), chance.of(nodes).path, chance.of(nodes).path];
  for (let i = 0; i < crowd; i++) {
    const talk = talkOf(chance, count + i);
    add(atMs, { ...talk, there: { ...talk.there, bytes: 1 + (i % 7) }, back: { bytes: i % 3, readMs: 0 } }, from, to);
  }
  return steps;
}

/** Steps with `banyan ping`, and sometimes with more streams than a session allows. */
export function pingsOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  const steps: Step[] = [];
  if (chance.is(0.1)) {
    const { there, ...ping } = talkOf(chance, firstPing);
    const bytes = chance.is(0.3) ? 0 : chance.below(pingBytesMax);
    const talk: PlannedTalk = { ...ping, kind: 'ping', there: { ...there, bytes } };
    const [node, to] = [chance.of(nodes).path, chance.of(nodes).path];
    steps.push({ atMs: 1_500 + chance.below(spanMs), action: { do: 'talk', node, to, talk } });
  }
  if (chance.is(0.004)) steps.push(...queueOf(chance, nodes));
  return steps;
}

/** More talks of one kind than a session allows. Nobody accepts them before their deadline. */
function queueOf(chance: Chance, nodes: readonly PlannedNode[]): Step[] {
  const { path } = chance.of(nodes.slice(1));
  const ends = [path, parentOf(path)];
  const [node, to] = (chance.is(0.5) ? ends : ends.reverse()) as [string, string];
  const atMs = 3_000 + chance.below(spanMs / 2);
  return Array.from({ length: crowd }, (_, i): Step => {
    const side: TalkSide = { bytes: 10, readMs: 0 };
    const talk: PlannedTalk = {
      number: firstPing + 1 + i,
      kind: 'sim',
      isAdministrator: true,
      bulk: false,
      deadlineMs: 15_000,
      there: side,
      back: side,
      taken: 'never',
    };
    // The last talks begin when the other side has had time to accept the earlier ones.
    return { atMs: atMs + (i < streamsMax ? 0 : 2_000 + i), action: { do: 'talk', node, to, talk } };
  });
}

export function talkOf(chance: Chance, number: number): PlannedTalk {
  const bulk = chance.is(0.2);
  const at = chance.fraction();
  return {
    number,
    kind: chance.is(0.8) ? 'sim' : chance.of(['echo', 'health', 'no-such'] as const),
    isAdministrator: chance.is(0.93),
    bulk,
    deadlineMs: chance.is(0.05) ? 25 : 1_000 + chance.below(20_000),
    there: sideOf(chance, bulk),
    back: sideOf(chance, bulk),
    taken: at < 0.8 ? 'at-once' : at < 0.87 ? 'late' : at < 0.92 ? 'refused' : at < 0.96 ? 'too-late' : 'never',
    ...(chance.is(0.2)
      ? { cancelled: { by: chance.of(['asker', 'taker'] as const), afterMs: chance.below(4_000) } }
      : {}),
  };
}

/** Most talks are small; some are larger than any window. */
function sideOf(chance: Chance, bulk: boolean): TalkSide {
  const bytes = chance.is(0.1) ? 0 : Math.floor((bulk ? 3_000_000 : 700_000) * chance.fraction() ** 4);
  return { bytes, readMs: chance.is(0.7) ? 0 : chance.below(chance.is(0.2) ? 20_000 : 300) };
}
