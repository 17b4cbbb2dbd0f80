/**
 * What a child says, looked at before anything here reads it. One that speaks for others ends its session: that is no accident. An entry that is not what its
 * key says is quarantined (core/feed/quarantine.ts), and nothing else happens.
 */
import * as z from 'zod';
import { type EntryKey, isObjectEntry, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { parseServed, servedMax } from '../../core/entries/served-resources.ts';
import type { AppliedChange, Content } from '../../core/feed/feed.ts';
import type { Flaw } from '../../core/feed/quarantine.ts';
import { isAtOrBelow } from '../../core/identity/node-path.ts';
import { decodeLabelSummary } from '../../core/match/label-summary.ts';
import { decodeChecked } from '../../core/object/checked.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { readUserPartial } from '../../core/summary/user-partial-wire.ts';
import { checkPartial, type Speaker } from './partial-check.ts';
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
const has = z.object({ release: count, handed: z.boolean() });
const attach = z.object({ sequence: count, role: z.enum(['relay', 'agent']) });
const said = z.object({ term: count });
const held = z.object({ entries: count, since: z.string(), token: z.string(), sample: z.array(z.string()) });
const flaws = z.object({ count, sample: z.array(z.string()) });
const trouble = z.object({ reason: z.string(), message: z.string() });
const node = z.object({
  role: z.enum(['relay', 'agent']),
  version: z.string(),
  children: count.optional(),
  relays: count.optional(),
  agents: count.optional(),
  session: z.object({ state: z.enum(['Connected', 'Disconnected']), since: z.string().optional() }).optional(),
  lag: z.object({ entries: count }).optional(),
  kubernetesVersion: z.string().optional(),
  trouble: trouble.optional(),
  limit: trouble.optional(),
  certificateTrouble: trouble.optional(),
  incomplete: trouble.optional(),
  platform: z.string().max(100).optional(),
  nodes: count.optional(),
  nodesReady: count.optional(),
  served: z
    .array(z.string().refine((one) => parseServed(one) !== undefined, 'is no served resource'))
    .max(servedMax)
    .optional(),
  servedCount: count.optional(),
  capacity: quantities.optional(),
  allocatable: quantities.optional(),
  held: held.optional(),
  keptFor: held.optional(),
  quarantined: flaws.optional(),
  refused: flaws.optional(),
  diverged: z.object({ at: z.string(), what: z.string() }).optional(),
  waits: z.object({ since: z.string(), for: z.string() }).optional(),
  diskLow: z.literal(true).optional(),
  rolledBack: z
    .array(z.object({ source: z.string(), had: count, seen: count, since: z.string(), token: z.string() }))
    .optional(),
});
const status = z.record(z.string(), z.unknown());
const seen = z.object({ revision: count });

const associated = z.object({
  owner: z.string(),
  namespaced: z.boolean(),
  refs: z.array(z.string()),
});
const upsynced = z.object({
  refs: z.array(z.string()),
  namespaced: z.boolean(),
  returnTo: z.enum(['Parent', 'Center']),
});

/** `path` is the child's; throws Protocol when it is not the child's to say. */
export function checkSpeaker(path: string, { key }: Pick<AppliedChange, 'key'>): void {
  const entry = parseEntryKey(key);
  switch (entry?.type) {
    case 'upsynced':
    case 'node':
      return checkPath(path, entry.path);
    case undefined:
    case 'status':
    case 'seen':
    case 'labels':
    case 'partial':
    case 'summary':
    case 'gone':
    case 'has':
    case 'attach':
    case 'siblings':
    case 'state':
    case 'associated':
      return;
    default:
      throw new BanyanError('Protocol', `"${path}" sends the entry "${key}", which only a parent may send`);
  }
}

/** What is wrong with an entry of this child, as the judge of a feed has it. */
export function reportedFlaw(child: Speaker, content: Content): Flaw | undefined {
  try {
    checkShape(child, content);
    return undefined;
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    return { reason: error.message };
  }
}

/** Throws a BanyanError. */
function checkShape(child: Speaker, content: Content): void {
  const { key, attributes, body } = content;
  const entry = parseEntryKey(key);
  if (entry && child.role === 'agent' && isOfRelays(entry, child.path)) {
    throw new BanyanError('Protocol', `an agent says "${key}", which only relays say`);
  }
  switch (entry?.type) {
    case undefined:
      if (isObjectEntry(key)) throw new BanyanError('Protocol', `not the key of an object: ${key}`);
      return;
    case 'status':
      return checkStatus(key, content);
    case 'seen':
      decodeChecked(`the entry ${key}`, seen, attributes);
      return;
    case 'labels':
      if (body.length > 0) decodeLabelSummary(body);
      decodeLabelSummary(attributes);
      return;
    case 'partial':
      return checkPartial(child, body);
    case 'summary':
      readUserPartial(content);
      return;
    case 'gone':
      decodeChecked(`the entry ${key}`, gone, attributes);
      return;
    case 'has':
      decodeChecked(`the entry ${key}`, has, attributes);
      return;
    case 'attach':
      decodeChecked(`the entry ${key}`, attach, attributes);
      return;
    case 'siblings':
      decodeChecked(`the entry ${key}`, said, attributes);
      return;
    case 'state':
      decodeChecked(`the state of ${key}`, state, attributes);
      return checkStatus(key, content);
    case 'associated':
      decodeChecked(`the entry of ${key}`, associated, attributes);
      return checkWholeObject(key, entry.object, content);
    case 'upsynced':
      decodeChecked(`the entry of ${key}`, upsynced, attributes);
      return checkWholeObject(key, entry.object, content);
    case 'node':
      decodeChecked(`the entry of node ${entry.path}`, node, attributes);
      return;
    default:
      // Ends the session: checkSpeaker.
      return;
  }
}

/** What is of nodes below, or made of what they say, or of one of several siblings. */
function isOfRelays(entry: EntryKey, path: string): boolean {
  switch (entry.type) {
    case 'labels':
    case 'summary':
    case 'status':
    case 'attach':
    case 'siblings':
      return true;
    case 'node':
    case 'upsynced':
      // Of a node elsewhere the session ends: checkSpeaker.
      return entry.path !== path && isAtOrBelow(entry.path, path);
    default:
      return false;
  }
}

/** An object's status, or none: summaries and the exact status of a placement parse it. */
function checkStatus(key: string, { body }: Content): void {
  if (body.length > 0) decodeChecked(`the status of ${key}`, status, body);
}

function checkPath(child: string, spokenOf: string): void {
  if (isAtOrBelow(spokenOf, child)) return;
  throw new BanyanError('Protocol', `"${child}" speaks for the node "${spokenOf}", which is not below it`);
}
