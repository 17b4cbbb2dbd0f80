/** A dialer for a place with siblings: each dial goes to the one whose turn it is (candidates.ts). With one parent it is that parent's dialer. */
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Dialer, Link, LinkEvents } from '../wire/link.ts';
import { type Candidates, candidates, ended, notReached, returnAfterMs } from './candidates.ts';

export interface FailoverPorts {
  readonly clock: Clock;
  readonly random: Random;
}

/** `dialers`: home first. */
export function failoverDialer({ clock, random }: FailoverPorts, dialers: readonly Dialer[]): Dialer {
  if (dialers.length === 1) return dialers[0]!;
  let state: Candidates = candidates(dialers.length);
  return {
    async dial(events, timeoutMs) {
      const index = state.next;
      const sinceMs = clock.monotonicMs();
      let goesHome: Timer | undefined;
      let returning = false;
      const watched: LinkEvents = {
        onFrame: (frame) => events.onFrame(frame),
        onBytes: (count) => events.onBytes(count),
        onDrain: () => events.onDrain(),
        onClose: (error) => {
          goesHome?.stop();
          state = ended(state, clock.monotonicMs() - sinceMs, returning);
          events.onClose(error);
        },
      };
      let link: Link;
      try {
        link = await dialers[index]!.dial(watched, timeoutMs);
      } catch (error) {
        state = notReached(state);
        throw error;
      }
      if (index !== 0) {
        goesHome = clock.after(returnAfterMs * (1 + random.fraction()), () => {
          returning = true;
          link.close('the child goes back to its home');
        });
      }
      return link;
    },
  };
}
