/**
 * Questions to child relays over byte streams, as all requests to another node go. The question is the header of the stream, and the answer is its bytes. Each
 * child is asked by its own session, so each replica of a relay can be asked.
 */

import { childPath } from '../../core/identity/node-path.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { durationText } from '../../core/runtime/duration-text.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { fleetKind } from '../../core/stream/fleet-kind.ts';
import type { Endpoint } from '../../core/stream/router.ts';
import type { SessionStreams } from '../../core/stream/streams.ts';
import { namedAsOfChild } from '../../core/stream/vouching.ts';
import type { FleetLine } from './fleet-lines.ts';
import { type Asker, decodeQuestion, type FleetQuestion } from './fleet-question.ts';
import { readLines, writeLines } from './line-streams.ts';
import { positionEveryMs } from './watch.ts';

/** Time in which the child has to begin its answer. A child that works begins at once; a child on a bad line needs some round trips. */
const acceptMs = 5_000;
/** A watch sends its position more often, so a watch that is silent for this long is broken. */
const watchQuietMs = 3 * positionEveryMs;
/**
 * A child that did not answer in time is not asked again for this long. Otherwise each page of each list would wait for it again, until its session ends.
 */
const restMs = 10_000;

export interface ChildQuestionsPorts {
  /** The path of this node. */
  readonly path: string;
  readonly clock: Clock;
  /** Returns the streams of the session with the child. Undefined: there is no session. */
  streams(child: string): SessionStreams | undefined;
  /** Whether the node has a child of this name, connected or not. */
  isChild(name: string): boolean;
}

export class ChildQuestions {
  readonly #ports: ChildQuestionsPorts;
  /** Keyed by child: when it may be asked again, and why it may not before. */
  readonly #resting = new Map<string, { readonly untilMs: number; readonly why: string }>();

  constructor(ports: ChildQuestionsPorts) {
    this.#ports = ports;
  }

  /** Asks at once. The iteration throws Unavailable or Timeout if the child does not answer. */
  ask(child: string, asker: Asker, question: FleetQuestion, signal: AbortSignal): AsyncIterable<FleetLine> {
    const { clock, path: at, isChild } = this.#ports;
    const refused =
      asker.voucher === undefined ? namedAsOfChild({ user: asker.name, groups: asker.groups }, at, isChild) : undefined;
    if (refused !== undefined) return failed(new BanyanError('Forbidden', refused));
    const resting = this.resting(child);
    const streams = this.#ports.streams(child);
    if (!streams) return failed(new BanyanError('Unavailable', 'it is not connected'));
    if (resting !== undefined) return failed(new BanyanError('Unavailable', resting));
    const deadlineMs = Math.min(acceptMs, question.patienceMs);
    const request = {
      path: childPath(at, child),
      kind: fleetKind,
      header: Buffer.from(JSON.stringify(question)),
      voucher: asker.voucher ?? at,
      user: asker.name,
      groups: asker.groups,
      deadlineMs,
      bulk: false,
    };
    const quietMs = question.type === 'watch' ? watchQuietMs : question.patienceMs;
    const lines = readLines((handler) => streams.open(request, handler), { at, clock, quietMs, signal });
    return this.#noting(child, question, lines, deadlineMs);
  }

  /** Why the child is not asked at present. Undefined: it is asked. */
  resting(child: string): string | undefined {
    const resting = this.#resting.get(child);
    return resting && this.#ports.clock.monotonicMs() < resting.untilMs ? resting.why : undefined;
  }

  /** Call it when the session with the child began or ended: a new session may be asked at once. */
  connectionChanged(child: string): void {
    this.#resting.delete(child);
  }

  async *#noting(
    child: string,
    { type }: FleetQuestion,
    lines: AsyncIterable<FleetLine>,
    deadlineMs: number,
  ): AsyncGenerator<FleetLine> {
    let hasBegun = false;
    try {
      for await (const line of lines) {
        hasBegun = true;
        yield line;
      }
    } catch (error) {
      if (!(error instanceof BanyanError) || error.code !== 'Timeout') throw error;
      const silent = hasBegun ? error : new BanyanError('Timeout', `no answer within ${durationText(deadlineMs)}`);
      // The kinds of a child are not needed at once, so a child that is slow to collect them is asked for its copies meanwhile.
      if (type !== 'kinds') this.#rest(child, silent.message);
      throw silent;
    }
  }

  #rest(child: string, message: string): void {
    const why = `${message}; it is asked again after ${durationText(restMs)}`;
    this.#resting.set(child, { untilMs: this.#ports.clock.monotonicMs() + restMs, why });
  }
}

async function* failed(error: BanyanError): AsyncGenerator<FleetLine> {
  yield* [];
  throw error;
}

/** The endpoint for questions of the parent. `failed` gets errors of this program. */
export function fleetEndpoint(
  at: string,
  answer: (question: FleetQuestion, asker: Asker, signal: AbortSignal) => AsyncIterable<FleetLine>,
  failed: (error: unknown) => void,
): Endpoint {
  return (offer) => {
    const { header, voucher, user: name, groups } = offer.request;
    const linesOf = (signal: AbortSignal) => answer(decodeQuestion(header), { voucher, name, groups }, signal);
    writeLines(offer, at, linesOf).catch(failed);
  };
}
