/**
 * A stream to the next hop, which is one node or several siblings with one path: asked one after another, as long as the one before has refused and
 * time is left. Before a stream is taken nothing of it has been sent, so it can be asked for anew.
 */
import type { Clock } from '../runtime/clock.ts';
import { splice } from './splice.ts';
import type { Offer, ResetCode, StreamReset } from './stream.ts';
import type { SessionStreams } from './streams.ts';

/** What another sibling may know better: who is attached to it, and whether it answers at all. The rest is the same for all of them. */
const worthAnother: ReadonlySet<ResetCode> = new Set(['Disconnected', 'NotFound', 'Unavailable', 'DeadlineExceeded']);
/** A hop that has less left is asked in vain. */
const askMinMs = 20;

/** `leftMs`: until the stream has to be taken. Each of those who are asked has its share of it, so that one that is silent leaves some to the next. */
export function handOn(offer: Offer, hops: readonly SessionStreams[], leftMs: number, clock: Clock): void {
  const untilMs = clock.monotonicMs() + leftMs;
  const ask = (index: number, said?: StreamReset): void => {
    const deadlineMs = Math.floor((untilMs - clock.monotonicMs()) / (hops.length - index));
    splice(
      offer,
      (handler) => hops[index]!.open({ ...offer.request, deadlineMs }, handler),
      (reset) => {
        const words = said && said.code !== 'NotFound' ? said : reset;
        const isLast = index + 1 === hops.length || untilMs - clock.monotonicMs() < askMinMs;
        if (isLast || !worthAnother.has(reset.code)) offer.refuse(words);
        else ask(index + 1, words);
      },
    );
  };
  ask(0);
}
