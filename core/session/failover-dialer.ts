/** A dialer for a place with siblings: each dial goes to the one whose turn it is (candidates.ts). With one parent it is that parent's dialer. */
import type { Clock, Timer } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import type { Frame } from '../wire/generated/mesh.ts';
import type { Dialer, Link, LinkEvents } from '../wire/link.ts';
import { type Candidates, candidates, ended, notReached, returnAfterMs } from './candidates.ts';
import { onRootReport, onSessionChanged, returnDelayFactor, rootWatch } from './root-watch.ts';

export interface FailoverPorts {
  readonly clock: Clock;
  readonly random: Random;
}

/** `dialers`: home first. */
export function failoverDialer({ clock, random }: FailoverPorts, dialers: readonly Dialer[]): Dialer {
  if (dialers.length === 1) return dialers[0]!;
  let state: Candidates = candidates(dialers.length);
  let watch = rootWatch;
  let attachedTo: number | undefined;
  let endOfLast: (() => void) | undefined;
  return {
    async dial(events, timeoutMs) {
      // A child dials when its last session is over. The link of that may be told so later, if the parent says nothing.
      endOfLast?.();
      const index = state.next;
      let welcomedMs: number | undefined;
      let goesHome: Timer | undefined;
      let goes: 'home' | 'on' | undefined;
      let link: Link | undefined;
      let left: string | undefined;
      // A parent that is mute, or refuses late on a long line, was no home for any time.
      const livedFor = (): number => (welcomedMs === undefined ? 0 : clock.monotonicMs() - welcomedMs);
      const listen = ({ frame }: Frame): void => {
        if (frame?.$case === 'welcome') welcomedMs ??= clock.monotonicMs();
        if (frame?.$case !== 'beat' || goes) return;
        const heard = { ageMs: frame.value.rootAgeMs, nowMs: clock.monotonicMs(), isHome: index === 0 };
        const next = onRootReport(watch, heard, () => random.fraction());
        watch = next.watch;
        if (!next.leaves) return;
        goes = 'on';
        left = `the parent has received no report of the root for ${Math.round(heard.ageMs / 1000)} s: another replica of it is tried`;
        link?.close(left);
      };
      const end = (next: (before: Candidates) => Candidates): void => {
        if (endOfLast !== over) return;
        endOfLast = undefined;
        goesHome?.stop();
        state = next(state);
      };
      const over = () => end((before) => ended(before, livedFor(), goes));
      endOfLast = over;
      const watched: LinkEvents = {
        onFrame: (frame) => {
          events.onFrame(frame);
          listen(frame);
        },
        onBytes: (count) => events.onBytes(count),
        onDrain: () => events.onDrain(),
        onClose: (error) => {
          over();
          events.onClose(left === undefined ? error : new BanyanError('Unavailable', left));
        },
      };
      try {
        link = await dialers[index]!.dial(watched, timeoutMs);
      } catch (error) {
        end(notReached);
        throw error;
      }
      watch = onSessionChanged(watch, attachedTo !== undefined && attachedTo !== index);
      attachedTo = index;
      const made = link;
      if (index !== 0) {
        goesHome = clock.after(returnAfterMs * returnDelayFactor(watch) * (1 + random.fraction()), () => {
          goes = 'home';
          made.close('the child goes back to its home');
        });
      }
      return made;
    },
  };
}
