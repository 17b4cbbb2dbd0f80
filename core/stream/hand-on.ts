/**
 * Opens a stream to the next hop: one node, or several replicas of one path. If a replica refuses and time remains, the next replica is asked. This is safe,
 * because no bytes of a stream are sent before an endpoint accepts the stream.
 */
import type { Clock } from '../runtime/clock.ts';
import { splice } from './splice.ts';
import type { Offer, ResetCode, StreamReset } from './stream.ts';
import type { SessionStreams } from './streams.ts';

/**
 * Resets after which another replica may accept the stream: the child may be attached to the other replica, or the first replica may not answer. All other
 * resets would be the same at every replica.
 */
const differsByReplica: ReadonlySet<ResetCode> = new Set([
  'Disconnected',
  'NotFound',
  'Unavailable',
  'DeadlineExceeded',
]);
/** Least time to ask a hop. With less time, the hop could not answer. */
const askMinMs = 20;

/**
 * Asks the hops for the stream. `leftMs`: time until an endpoint has to accept the stream. Each hop gets an equal share of the remaining time, so that a hop
 * that does not answer leaves time for the next ones.
 */
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
