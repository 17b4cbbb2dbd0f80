/**
 * Keeps a node from deleting rows only because its parent has lost them. A row is held if the deletions exceed their budget, or if the row belongs to a
 * store incarnation that its space has lost.
 */
import * as z from 'zod';
import { type DeletionGuard, deletionLimits, type HeldRows } from '../feed/deletions.ts';
import { timestamp } from '../object/conditions.ts';
import type { Clock } from '../runtime/clock.ts';
import { parseEntryKey } from './entry-keys.ts';
import { isLostRow } from './source-incarnations.ts';
import type { HeldAttributes } from './up-attributes.ts';

/** The field `limits` of a node's configuration and of a topology. */
export const limitsSchema = z.strictObject({
  deletions: z
    .strictObject({
      entries: z
        .number()
        .int()
        .min(0)
        .default(deletionLimits.entries)
        .describe('The node may always delete up to this number of entries.'),
      fraction: z
        .number()
        .min(0)
        .max(1)
        .default(deletionLimits.fraction)
        .describe('The node may always delete up to this share of its entries.'),
    })
    .default(deletionLimits)
    .describe(
      'A node holds entries that its parent lacks when their number exceeds both limits. They stay until a person approves their deletion.',
    ),
});

export type Limits = z.infer<typeof limitsSchema>;

export function deletionGuard(clock: Clock, limits: Limits | undefined): DeletionGuard {
  return {
    limits: limits?.deletions ?? deletionLimits,
    wallMs: () => clock.wallMs(),
    // `owner` rows are never held. Only the newest decision of the parent counts: with an outdated row, two replicas would count the same child.
    mayGo: (key) => parseEntryKey(key)?.type === 'owner',
    isLost: isLostRow,
  };
}

/** The attribute of a node's report about the rows that it holds. */
export function heldAttributes(held: HeldRows | undefined): { readonly held?: HeldAttributes } {
  if (!held) return {};
  const { entries, sinceMs, token, sample } = held;
  return { held: { entries, since: timestamp(sinceMs), token, sample } };
}
