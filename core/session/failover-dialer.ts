/** A dialer for a parent with replicas. Each dial goes to the replica that candidates.ts chooses. If there is only one dialer, it is used directly. */
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

/** `dialers`: one for each replica, home first. */
export function failoverDialer({ clock, random }: FailoverPorts, dialers: readonly Dialer[]): Dialer {
  if (dialers.length === 1) return dialers[0]!;
  let state: Candidates = candidates(dialers.length);
  let watch = rootWatch;
  let attachedTo: number | undefined;
  let endLast: (() => void) | undefined;
  return {
    async dial(events, timeoutMs) {
      // A child dials only after its previous session is over. But if the parent does not answer, the link of that session may report its close later.
      endLast?.();
      const index = state.next;
      let welcomedMs: number | undefined;
      let homeTimer: Timer | undefined;
      let leavesFor: 'home' | 'on' | undefined;
      let link: Link | undefined;
      let leaveReason: string | undefined;
      // Without a Welcome this is 0: a parent that does not answer, or that refuses late on a slow line, counts as not reached.
      const sessionMs = (): number => (welcomedMs === undefined ? 0 : clock.monotonicMs() - welcomedMs);
      const observe = ({ frame }: Frame): void => {
        if (frame?.$case === 'welcome') welcomedMs ??= clock.monotonicMs();
        if (frame?.$case !== 'beat' || leavesFor) return;
        const report = { ageMs: frame.value.rootAgeMs, nowMs: clock.monotonicMs(), isHome: index === 0 };
        const next = onRootReport(watch, report, () => random.fraction());
        watch = next.watch;
        if (!next.leaves) return;
        leavesFor = 'on';
        leaveReason = `the parent has received no report of the root for ${Math.round(report.ageMs / 1000)} s: another replica of it is tried`;
        link?.close(leaveReason);
      };
      const end = (next: (before: Candidates) => Candidates): void => {
        if (endLast !== over) return;
        endLast = undefined;
        homeTimer?.stop();
        state = next(state);
      };
      const over = () => end((before) => ended(before, sessionMs(), leavesFor));
      endLast = over;
      const watched: LinkEvents = {
        onFrame: (frame) => {
          events.onFrame(frame);
          observe(frame);
        },
        onBytes: (count) => events.onBytes(count),
        onDrain: () => events.onDrain(),
        onClose: (error) => {
          over();
          events.onClose(leaveReason === undefined ? error : new BanyanError('Unavailable', leaveReason));
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
      const current = link;
      if (index !== 0) {
        homeTimer = clock.after(returnAfterMs * returnDelayFactor(watch) * (1 + random.fraction()), () => {
          leavesFor = 'home';
          current.close('the child goes back to its home');
        });
      }
      return current;
    },
  };
}
