/**
 * Opens a stream to the next hop: one node, or several replicas of one path. The replicas are asked one after another, while the former one refuses and time
 * remains. Nothing of a stream is sent before an endpoint takes the stream, so it can be asked for again.
 */
import type { Clock } from '../runtime/clock.ts';
import { splice } from './splice.ts';
import type { Offer, ResetCode, StreamReset } from './stream.ts';
import type { SessionStreams } from './streams.ts';

/**
 * Resets for which another replica may have another answer: whether a child is attached to it, and whether the replica answers at all. Every other reset is
 * the same at all replicas.
 */
const differsByReplica: ReadonlySet<ResetCode> = new Set([
  'Disconnected',
  'NotFound',
  'Unavailable',
  'DeadlineExceeded',
]);
/** With less time than this, asking a hop is useless. */
const askMinMs = 20;

/** `leftMs`: time until an endpoint has to take the stream. Each hop gets an equal share of the rest, so that a silent hop leaves time for the next ones. */
export function handOn(offer: Offer, hops: readonly SessionStreams[], leftMs: number, clock: Clock): void {
  const untilMs = clock.monotonicMs() + leftMs;
  const ask = (index: number, former?: StreamReset): void => {
    const deadlineMs = Math.floor((untilMs - clock.monotonicMs()) / (hops.length - index));
    splice(
      offer,
      (handler) => hops[index]!.open({ ...offer.request, deadlineMs }, handler),
      (reset) => {
        const answer = former && former.code !== 'NotFound' ? former : reset;
        const isLast = index + 1 === hops.length || untilMs - clock.monotonicMs() < askMinMs;
        if (isLast || !differsByReplica.has(reset.code)) offer.refuse(answer);
        else ask(index + 1, answer);
      },
    );
  };
  ask(0);
}
