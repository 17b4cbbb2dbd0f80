/** What a child says, checked in the transaction that takes it: an entry that is not what its key says ends the session of that child, and nothing else. */
import { z } from 'zod';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { decodeLabelSummary } from '../../core/match/label-summary.ts';
import { decodeChecked } from '../../core/object/checked.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { decodePartial } from '../../core/summary/partial.ts';
import { readUserPartial } from '../../core/summary/user-partial-wire.ts';
import { parseEntryKey } from '../../core/wire/entries.ts';

const count = z.number().int().min(0);
const quantities = z.record(z.string(), z.string());
const state = z.object({
  desired: count,
  applied: z.boolean(),
  available: z.boolean(),
  failed: z.literal(true).optional(),
});
const node = z.object({
  role: z.enum(['relay', 'agent']),
  version: z.string(),
  children: count.optional(),
  relays: count.optional(),
  agents: count.optional(),
  session: z.object({ state: z.enum(['Connected', 'Disconnected']), since: z.string().optional() }).optional(),
  lag: z.object({ entries: count }).optional(),
  kubernetesVersion: z.string().optional(),
  capacity: quantities.optional(),
  allocatable: quantities.optional(),
});

/** `path` is the child's; throws Protocol. */
export function checkReported(path: string, { key, after }: AppliedChange): void {
  const entry = parseEntryKey(key);
  switch (entry?.type) {
    case undefined:
    case 'status':
      return;
    case 'labels':
      if (after) decodeLabelSummary(after.attributes);
      return;
    case 'partial':
      if (after) decodePartial(after.body);
      return;
    case 'summary':
      if (after) readUserPartial(after);
      return;
    case 'state':
      if (after) decodeChecked(`the state of ${key}`, state, after.attributes);
      return;
    case 'node':
      if (entry.path !== path && !entry.path.startsWith(`${path}:`))
        throw new BanyanError('Protocol', `"${path}" speaks for the node "${entry.path}", which is not below it`);
      if (after) decodeChecked(`the entry of node ${entry.path}`, node, after.attributes);
      return;
    default:
      throw new BanyanError('Protocol', `"${path}" sends the entry "${key}", which only a parent may send`);
  }
}
