/**
 * A monotonic clock for time limits that other agents rely on. The clock also counts the time while the machine sleeps, if the system counts this time. The
 * monotonic clock of Node.js does not. With that clock, a holder on a machine that wakes up would still believe that it holds the Lease.
 */
import { uptime } from 'node:os';
import type { Clock } from '../../core/runtime/clock.ts';

export function bootClock(clock: Clock, uptimeSeconds: () => number = uptime): Clock {
  const [startMs, startSeconds] = [clock.monotonicMs(), uptimeSeconds()];
  return {
    wallMs: () => clock.wallMs(),
    // The system may report its uptime in whole seconds, or not at all. Then the monotonic clock is ahead, and its value counts.
    monotonicMs: () => startMs + Math.max(clock.monotonicMs() - startMs, (uptimeSeconds() - startSeconds) * 1_000),
    after: (delayMs, fire) => clock.after(delayMs, fire),
  };
}
