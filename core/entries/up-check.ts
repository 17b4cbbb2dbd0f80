/**
 * Checks each entry that a child reports against the registry, before any room reads the entry. If a child reports for a node outside its subtree, its session
 * ends. An entry that does not have the form of its kind is quarantined (feed/quarantine.ts) and has no other effect.
 */
import type { AppliedChange, Content } from '../feed/feed.ts';
import type { EntryFlaw } from '../feed/quarantine.ts';
import { isAtOrBelow } from '../identity/node-path.ts';
import { BanyanError } from '../runtime/errors.ts';
import { checkedJson } from './checked-json.ts';
import { type EntryKey, parseEntryKey } from './entry-keys.ts';
import type { ReportingChild, UpKind } from './entry-kind.ts';
import { keyFlaw, upKind } from './entry-lookup.ts';

/**
 * `path`: the child's path. Throws Protocol if the child is not allowed to report the entry. A child may take back what it once was allowed to report: it may have
 * moved here with its parent, and then its former reports have its former path.
 */
export function checkReporter(
  path: string,
  { key, before, after }: Pick<AppliedChange, 'key' | 'before' | 'after'>,
): void {
  const entry = parseEntryKey(key);
  if (!entry) return;
  if (!upKind(entry.type)) {
    throw new BanyanError('Protocol', `"${path}" sends the entry "${key}", which only a parent may send`);
  }
  const takesBack = before !== undefined && after === undefined;
  if ('path' in entry && !takesBack && !isAtOrBelow(entry.path, path)) {
    throw new BanyanError('Protocol', `"${path}" speaks for the node "${entry.path}", which is not below it`);
  }
}

/** Describes what is wrong with an entry that this child reports. Undefined: nothing. */
export function reportedFlaw(reporter: ReportingChild, content: Content): EntryFlaw | undefined {
  const entry = parseEntryKey(content.key);
  // Kinds that only parents send end the session (checkReporter). An entry of an unknown kind is stored and ignored.
  const kind = entry && upKind(entry.type);
  const reason = kind ? flawOf(kind, entry, reporter, content) : entry ? undefined : keyFlaw(content.key);
  return reason === undefined ? undefined : { reason };
}

function flawOf(kind: UpKind, entry: EntryKey, reporter: ReportingChild, content: Content): string | undefined {
  if (kind.by !== undefined && kind.by !== reporter.role) return `only ${kind.by}s report "${content.key}"`;
  // An entry of a node outside the subtree ends the session (checkReporter).
  const isOfBelow = 'path' in entry && entry.path !== reporter.path && isAtOrBelow(entry.path, reporter.path);
  if (reporter.role === 'agent' && isOfBelow) {
    return `only relays report "${content.key}", which is of a node below them`;
  }
  const attributes = kind.attributes && checkedJson('the attributes', kind.attributes, content.attributes);
  if (typeof attributes === 'string') return attributes;
  try {
    kind.check?.('object' in entry ? { ...content, object: entry.object } : content, reporter);
    return undefined;
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    return error.message;
  }
}
