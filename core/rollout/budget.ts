/** Converts an amount (a number or a percentage) to a number of destinations: of all destinations, or the share of one last hop. */
import type { Amount } from './spec.ts';

/** The number of destinations that the amount means. A percentage is a part of `total` and is rounded up: 10 % of 6 is 1. */
export function amountOf(amount: Amount, total: number): number {
  if (typeof amount === 'number') return amount;
  const percent = Number(amount.slice(0, -1));
  return Math.ceil((percent * total) / 100);
}

/**
 * The share of an amount for a last hop with `local` of `total` destinations. The share is rounded up, and is at least one: even a release that must not fail
 * anywhere has to be tried somewhere. Because each last hop rounds up and decides alone, all last hops together may exceed the amount, each by less than one
 * destination.
 */
export function shareOf(amount: Amount, local: number, total: number): number {
  const share =
    typeof amount === 'number' ? Math.ceil((amount * local) / Math.max(total, local, 1)) : amountOf(amount, local);
  return Math.max(1, share);
}

/** Whether as many destinations have failed as the budget allows. Without a failure, a budget is never spent, even a budget of 0. */
export function isSpent(budget: Amount, failed: number, total: number): boolean {
  return failed > 0 && failed >= amountOf(budget, total);
}
