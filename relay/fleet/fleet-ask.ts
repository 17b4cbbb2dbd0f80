/** The port through which lists and watches ask child relays. `child-questions.ts` implements it over streams; tests implement it in memory. */
import type { FleetLine } from './fleet-lines.ts';
import type { FleetQuestion } from './fleet-question.ts';

/**
 * Asks a child relay at once, and returns the lines of its answer. The iteration throws a BanyanError if the relay does not answer. `signal` gives up the question.
 */
export type AskRelay = (child: string, question: FleetQuestion, signal: AbortSignal) => AsyncIterable<FleetLine>;
