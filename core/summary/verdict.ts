/** What an aggregated status has to say, before it is written as fields and conditions. */
import { destinationsOf, type StatusPartial } from './status-partial.ts';

export interface Verdict {
  readonly destinations: number;
  /** The object is available at every destination. */
  readonly isAvailable: boolean;
  /** The object has failed at a destination, or its release was rolled back. */
  readonly isFailed: boolean;
}

export function verdictOf(partial: StatusPartial, isRolledBack: boolean): Verdict {
  const destinations = destinationsOf(partial);
  const { available, failed } = partial.counts;
  return {
    destinations,
    isAvailable: available === destinations && !isRolledBack,
    isFailed: failed > 0 || isRolledBack,
  };
}
