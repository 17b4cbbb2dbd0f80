/**
 * A monotonic clock for promises to others. It goes on while the machine sleeps, if the system counts that time. The monotonic clock of Node.js stands still
 * meanwhile, so a holder on a machine that wakes up would go on as if nothing had happened.
 */
import { uptime } from 'node:os';
import type { Clock } from '../../core/runtime/clock.ts';

export function bootClock(clock: Clock, uptimeSeconds: () => number = uptime): Clock {
  const [startMs, startSeconds] = [clock.monotonicMs(), uptimeSeconds()];
  return {
    wallMs: () => clock.wallMs(),
    // If the system reports its uptime in whole seconds, or does not report it, the monotonic clock is ahead.
    monotonicMs: () => startMs + Math.max(clock.monotonicMs() - startMs, (uptimeSeconds() - startSeconds) * 1_000),
    after: (delayMs, fire) => clock.after(delayMs, fire),
  };
}
