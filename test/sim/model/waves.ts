/** The wave to which a destination belongs, written from the text of the reference. docs/decisions has the reasons. */
import { createHash } from 'node:crypto';
import type { Labels, Selector } from '../plan/action.ts';
import { matches } from './match.ts';

export interface WaveWritten {
  readonly name: string;
  readonly selector?: Selector;
  readonly fraction?: number;
  readonly count?: number;
  readonly soakSeconds?: number;
  readonly gates?: readonly { readonly rolloutGate?: string }[];
}

export interface RolloutWritten {
  readonly strategy: string;
  readonly waves?: readonly WaveWritten[];
  readonly authorizationSeconds: number;
  readonly paused?: boolean;
}

/** The position of a destination in [0, 1): the first 53 bits of SHA-256 of the salt, a line feed, and the path of the destination's agent. */
export function position(salt: string, path: string): number {
  const digest = createHash('sha256').update(`${salt}\n${path}`).digest();
  return Number(digest.readBigUInt64BE() >> 11n) / 2 ** 53;
}

/** The first wave to which the destination belongs. Destinations without a written wave belong to the wave after the last written one. */
export function waveAt(
  waves: readonly WaveWritten[],
  place: { readonly labels: Labels; readonly position: number; readonly drawn: readonly number[] },
): number {
  const found = waves.findIndex(({ selector, fraction, count = 0 }) => {
    if (selector) return matches(selector, place.labels);
    if (fraction !== undefined) return place.position < fraction;
    return place.drawn.slice(0, count).includes(place.position);
  });
  return found < 0 ? waves.length : found;
}

/** The number of waves. Unless the last written wave covers all destinations, one more wave has the rest. */
export function waveCount({ waves = [] }: RolloutWritten): number {
  const last = waves.at(-1);
  const takesAll = last?.fraction === 1 || (last?.selector && Object.values(last.selector).flat().length === 0);
  return waves.length + Number(!takesAll);
}
