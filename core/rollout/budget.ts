/** How many destinations an amount means: of all destinations, and as the share of one last hop. */
import type { Amount } from './spec.ts';

/** The amount as a number of destinations, of `total`. A percentage is rounded up: 10 % of 6 is one. */
export function amountOf(amount: Amount, total: number): number {
  if (typeof amount === 'number') return amount;
  const percent = Number(amount.slice(0, -1));
  return Math.ceil((percent * total) / 100);
}

/**
 * The part of an amount that a node with `local` of `total` destinations may use. The share is rounded up and is at least one: even a release that may fail
 * nowhere has to be tried somewhere. The rounding at every last hop is the price of local decisions: all last hops together may exceed the amount by less
 * than one destination each.
 */
export function shareOf(amount: Amount, local: number, total: number): number {
  const share =
    typeof amount === 'number' ? Math.ceil((amount * local) / Math.max(total, local, 1)) : amountOf(amount, local);
  return Math.max(1, share);
}

/** A budget is spent when as many destinations have failed as the budget allows. Without a failure, no budget is spent. */
export function isSpent(budget: Amount, failed: number, total: number): boolean {
  return failed > 0 && failed >= amountOf(budget, total);
}
