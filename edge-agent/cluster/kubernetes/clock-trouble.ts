/** Reports that the clock of the agent's machine and the clock of its cluster differ. */
import type { ClusterTrouble } from '../cluster.ts';

/** A smaller difference is not reported. Certificates tolerate some minutes, and people compare times by minutes. */
const bearableMs = 300_000;

/**
 * The report about the difference. Undefined: the difference is small. The agent's own work does not depend on the time of day, but certificates do, and
 * people read times.
 */
export function clockSkewMessage(aheadMs: number, server: string): ClusterTrouble | undefined {
  if (Math.abs(aheadMs) <= bearableMs) return undefined;
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const message = `the clock of the agent's machine is ${inWords(Math.abs(aheadMs))} ${side} that of ${server}: set the one that is wrong; otherwise certificates count as expired, and reported times are wrong`;
  return { reason: 'ClocksDiffer', message };
}

const units = [
  ['days', 86_400_000],
  ['hours', 3_600_000],
  ['minutes', 60_000],
] as const;

/** The difference in a large unit, so that the message does not change all the time. */
function inWords(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms >= 2 * each) ?? units[2];
  return `${Math.round(ms / unitMs)} ${unit}`;
}
