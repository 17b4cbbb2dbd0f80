/** Reports that the clock of the agent's machine and the clock of its cluster differ. */
import type { ClusterTrouble } from '../cluster.ts';

/** Certificates tolerate some minutes, and people compare times by minutes. */
const bearableMs = 300_000;

/** Nothing that the agent does depends on the time of day. Certificates depend on it, and people who read times. */
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

/** Coarse, so that the same difference always gives the same message. */
function inWords(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms >= 2 * each) ?? units[2];
  return `${Math.round(ms / unitMs)} ${unit}`;
}
