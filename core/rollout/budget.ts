/** How many destinations an amount is: of all, and a last hop's share of it. */
import type { Amount } from './spec.ts';

/** Of `total`, a percentage rounded up: 10 % of 6 is one. */
export function amountOf(amount: Amount, total: number): number {
  if (typeof amount === 'number') return amount;
  const percent = Number(amount.slice(0, -1));
  return Math.ceil((percent * total) / 100);
}

/**
 * What a node with `local` of `total` destinations may use of an amount, rounded up and at least one: a release that may fail nowhere has
 * still to be tried somewhere. Rounding up at every last hop is what local decisions cost: all together may exceed the amount by less than one each.
 */
export function shareOf(amount: Amount, local: number, total: number): number {
  const share =
    typeof amount === 'number' ? Math.ceil((amount * local) / Math.max(total, local, 1)) : amountOf(amount, local);
  return Math.max(1, share);
}

/** A budget is spent when as many have failed as it has; without a failure it never is. */
export function isSpent(budget: Amount, failed: number, total: number): boolean {
  return failed > 0 && failed >= amountOf(budget, total);
}
