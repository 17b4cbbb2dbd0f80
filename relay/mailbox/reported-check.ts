/** What a child says, checked in the transaction that takes it: an entry that is not what its key says ends the session of that child, and nothing else. */
import { z } from 'zod';
import type { AppliedChange, Content } from '../../core/feed/feed.ts';
import { decodeLabelSummary } from '../../core/match/label-summary.ts';
import { decodeChecked } from '../../core/object/checked.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { decodePartial } from '../../core/summary/partial.ts';
import { readUserPartial } from '../../core/summary/user-partial-wire.ts';
import { isObjectEntry, parseEntryKey } from '../../core/wire/entries.ts';
import { checkWholeObject } from './whole-objects.ts';

const count = z.number().int().min(0);
const quantities = z.record(z.string(), z.string());
const state = z.object({
  desired: count,
  applied: z.boolean(),
  available: z.boolean(),
  failed: z.literal(true).optional(),
  generation: count.optional(),
  local: count.optional(),
});
const gone = z.object({ asked: count });
const attach = z.object({ sequence: count, role: z.enum(['relay', 'agent']) });
const said = z.object({ term: count });
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
  held: z.object({ entries: count, since: z.string(), token: z.string(), sample: z.array(z.string()) }).optional(),
  quarantined: z.object({ count, sample: z.array(z.string()) }).optional(),
  rolledBack: z
    .array(z.object({ source: z.string(), had: count, seen: count, since: z.string(), token: z.string() }))
    .optional(),
});
const status = z.record(z.string(), z.unknown());
const seen = z.object({ revision: count });

const associated = z.object({
  owner: z.string(),
  namespaced: z.boolean(),
  refs: z.array(z.string()).exactOptional(),
});
const upsynced = z.object({
  refs: z.array(z.string()),
  namespaced: z.boolean(),
  returnTo: z.enum(['Parent', 'Center']),
});

/** `path` is the child's; throws Protocol. */
export function checkReported(path: string, { key, after }: AppliedChange): void {
  const entry = parseEntryKey(key);
  switch (entry?.type) {
    case undefined:
      if (isObjectEntry(key)) throw new BanyanError('Protocol', `not the key of an object: ${key}`);
      return;
    case 'status':
      if (after) checkStatus(key, after);
      return;
    case 'seen':
      if (after) decodeChecked(`the entry ${key}`, seen, after.attributes);
      return;
    case 'labels':
    case 'counted':
      if (after) decodeLabelSummary(after.attributes);
      return;
    case 'partial':
      if (after) decodePartial(after.body);
      return;
    case 'summary':
      if (after) readUserPartial(after);
      return;
    case 'gone':
      if (after) decodeChecked(`the entry ${key}`, gone, after.attributes);
      return;
    case 'attach':
      if (after) decodeChecked(`the entry ${key}`, attach, after.attributes);
      return;
    case 'siblings':
      if (after) decodeChecked(`the entry ${key}`, said, after.attributes);
      return;
    case 'state':
      if (!after) return;
      decodeChecked(`the state of ${key}`, state, after.attributes);
      checkStatus(key, after);
      return;
    case 'associated':
      if (!after) return;
      decodeChecked(`the entry of ${key}`, associated, after.attributes);
      checkWholeObject(key, entry.object, after);
      return;
    case 'upsynced':
      checkPath(path, entry.path);
      if (!after) return;
      decodeChecked(`the entry of ${key}`, upsynced, after.attributes);
      checkWholeObject(key, entry.object, after);
      return;
    case 'node':
      checkPath(path, entry.path);
      if (after) decodeChecked(`the entry of node ${entry.path}`, node, after.attributes);
      return;
    default:
      throw new BanyanError('Protocol', `"${path}" sends the entry "${key}", which only a parent may send`);
  }
}

/** An object's status, or none: summaries and the exact status of a placement parse it. */
function checkStatus(key: string, { body }: Content): void {
  if (body.length > 0) decodeChecked(`the status of ${key}`, status, body);
}

function checkPath(child: string, spokenOf: string): void {
  if (spokenOf === child || spokenOf.startsWith(`${child}:`)) return;
  throw new BanyanError('Protocol', `"${child}" speaks for the node "${spokenOf}", which is not below it`);
}
