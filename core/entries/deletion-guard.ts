/** The guard of a node's down feed: its budget, and what the spaces above say of their lives. */
import * as z from 'zod';
import { type DeletionGuard, deletionLimits, type HeldRows } from '../feed/deletions.ts';
import { timestamp } from '../object/conditions.ts';
import type { Clock } from '../runtime/clock.ts';
import { parseEntryKey } from './entry-keys.ts';
import { isLostRow } from './source-incarnations.ts';
import type { HeldAttributes } from './up-attributes.ts';

/** Of a node's configuration and of a topology alike. */
export const limitsSchema = z.strictObject({
  deletions: z
    .strictObject({
      entries: z.number().int().min(0).default(deletionLimits.entries).describe('As many may always go.'),
      fraction: z
        .number()
        .min(0)
        .max(1)
        .default(deletionLimits.fraction)
        .describe('Of what the node has; up to this part may go.'),
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
    // To whom a child belongs is what the parent says now: by an older word, two siblings would count it.
    mayGo: (key) => parseEntryKey(key)?.type === 'owner',
    isLost: isLostRow,
  };
}

/** What a node tells of what it holds. */
export function heldAttributes(held: HeldRows | undefined): { readonly held?: HeldAttributes } {
  if (!held) return {};
  const { entries, sinceMs, token, sample } = held;
  return { held: { entries, since: timestamp(sinceMs), token, sample } };
}
