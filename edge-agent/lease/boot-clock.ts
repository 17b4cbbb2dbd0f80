/**
 * A monotonic clock for promises to others: it goes on while the machine sleeps, where the system counts that. What Node calls monotonic stands still meanwhile,
 * and a holder on a machine that wakes up would go on as if nothing had happened.
 */
import { uptime } from 'node:os';
import type { Clock } from '../../core/runtime/clock.ts';

export function bootClock(clock: Clock, uptimeSeconds: () => number = uptime): Clock {
  const [startMs, startSeconds] = [clock.monotonicMs(), uptimeSeconds()];
  return {
    wallMs: () => clock.wallMs(),
    // Where the uptime is told in whole seconds, or not at all, the other one is ahead.
    monotonicMs: () => startMs + Math.max(clock.monotonicMs() - startMs, (uptimeSeconds() - startSeconds) * 1_000),
    after: (delayMs, fire) => clock.after(delayMs, fire),
  };
}
