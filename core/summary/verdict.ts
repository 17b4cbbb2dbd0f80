/** The result that an aggregated status has to show, before the node writes it as fields and conditions. */
import { destinationsOf, type StatusPartial } from './status-partial.ts';
import type { StatusRules } from './status-rules.ts';

export interface StatusVerdict {
  readonly destinations: number;
  /** The object is available at every destination. */
  readonly isAvailable: boolean;
  /** The object has failed at a destination, or its release was rolled back. */
  readonly isFailed: boolean;
}

export function verdictOf(rules: StatusRules, partial: StatusPartial, isRolledBack: boolean): StatusVerdict {
  const destinations = destinationsOf(partial);
  const { available, failed } = partial.counts;
  // A Job that has failed stays failed while its destination is not connected.
  const hasEnded = rules.conditions === 'ended' && partial.conditions.some(({ type }) => type === 'Failed');
  const isAvailable = available === destinations && !isRolledBack;
  return { destinations, isAvailable, isFailed: failed > 0 || hasEnded || isRolledBack };
}
