/** What to do about one object that is wanted: a function of what is wanted, what was done before and what the cluster holds. */

import type { AdoptRule, ApplyRules } from '../../core/entries/apply-rules.ts';
import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { terminating, terminatingMessage } from '../../core/object/terminating.ts';
import { isMarked, marked, signatureOf } from '../cluster/mark.ts';
import { ignoredOf } from './ignored-fields.ts';
import { foreignOwner } from './keepers.ts';
import type { OwnerRecord } from './owner-records.ts';
import { isAsRecorded } from './projection.ts';

export interface DesiredObject {
  readonly source: string;
  readonly bodyHash: string;
  readonly createOnly: boolean;
  readonly rules: ApplyRules;
  readonly object: KubeObject;
  /** How it is to be removed one day; absent: nobody says. */
  readonly deletion?: PropagationPolicy | undefined;
}

export type Decision =
  /** `onlySigns`: it is as it is to be, but for what its signature says. */
  | { readonly do: 'apply'; readonly created: boolean; readonly onlySigns?: true }
  /** Somebody has changed it since it was applied, and by the rules it is left so: it is to be said what differs. */
  | { readonly do: 'compare'; readonly live: KubeObject }
  /** The cluster has it already. */
  | { readonly do: 'keep' }
  | { readonly do: 'wait'; readonly reason: string; readonly message: string }
  | { readonly do: 'refuse'; readonly reason: string; readonly message: string };

/** `agent`: the path of this one. */
export function decide(
  wanted: DesiredObject,
  record: OwnerRecord | undefined,
  live: KubeObject | undefined,
  agent: string,
): Decision {
  if (!live) return { do: 'apply', created: true };
  if (live.metadata.deletionTimestamp !== undefined) {
    return { do: 'wait', reason: terminating, message: terminatingMessage(live) };
  }
  if (wanted.createOnly) return { do: 'keep' };
  const isOwn = isOurs(record, live, agent);
  const whose = isOwn ? undefined : notTaken(live, wanted.rules.adopt);
  if (whose !== undefined) {
    return { do: 'refuse', reason: 'NotOwned', message: `the object exists and is not taken over: ${whose}` };
  }
  if (isApplied(wanted, record, live)) {
    if (saysHowToRemove(live, wanted.deletion)) return { do: 'keep' };
    return { do: 'apply', created: record?.created ?? false, onlySigns: true };
  }
  if (wasApplied(wanted, record, live) && wanted.rules.drift !== 'Correct') {
    return wanted.rules.drift === 'Report' ? { do: 'compare', live } : { do: 'keep' };
  }
  // A record may be of another object of that name, or of one that was refused and that somebody has made since.
  return { do: 'apply', created: isOwn && (record?.created ?? false) };
}

function saysHowToRemove(live: KubeObject, deletion: PropagationPolicy | undefined): boolean {
  const said = signatureOf(live);
  return deletion === undefined || said === undefined || (said.deletion ?? 'Background') === deletion;
}

/** Signed by this agent, by whatever store of it; or on record for this very object, and signed by no other agent since. */
function isOurs(record: OwnerRecord | undefined, live: KubeObject, agent: string): boolean {
  const signer = signerOf(live, record, agent);
  return signer === 'us' || (signer === 'nobody' && record !== undefined && record.uid === live.metadata.uid);
}

/** A store that its agent took along to another place in the tree has on record by which path it signed. The label of the mark is no signature: controllers copy it. */
export function signerOf(
  live: KubeObject,
  record: OwnerRecord | undefined,
  agent: string,
): 'us' | 'nobody' | 'another' {
  const signed = signatureOf(live)?.agent;
  if (signed === undefined) return 'nobody';
  return signed === agent || signed === record?.agent ? 'us' : 'another';
}

/** Why an object that is there and not ours is left alone. */
function notTaken(live: KubeObject, adopt: AdoptRule): string | undefined {
  if (adopt === 'Always') return undefined;
  const other = signatureOf(live)?.agent;
  const owner = other === undefined ? foreignOwner(live) : `the agent ${other} has applied it`;
  if (adopt === 'Never')
    return `spec.adopt of its EdgePlacement is Never${owner === undefined ? '' : `, and ${owner}`}`;
  return owner && `${owner} (spec.adopt: Always would take it)`;
}

/** This content was accepted, for this very object. */
function wasApplied(wanted: DesiredObject, record: OwnerRecord | undefined, live: KubeObject): boolean {
  const { source, bodyHash } = wanted;
  return record?.uid === live.metadata.uid && record?.source === source && record.bodyHash === bodyHash;
}

/** The cluster holds the content that is wanted, unchanged since it was applied. */
export function isApplied(wanted: DesiredObject, record: OwnerRecord | undefined, live: KubeObject): boolean {
  if (!record || !wasApplied(wanted, record, live)) return false;
  const { object, source, rules } = wanted;
  return isAsRecorded(record.fingerprint, marked(object, source), live, ignoredOf(object, rules));
}

export type Removal =
  | { readonly do: 'remove'; readonly uid: string }
  /** It is not there, or not ours: only the record goes. */
  | { readonly do: 'forget' }
  /** It stays on the cluster without what was applied to it, the mark included. */
  | { readonly do: 'release' }
  | { readonly do: 'wait' };

export interface RemovedFrom {
  /** The path of this one. */
  readonly agent: string;
  readonly isContainer: boolean;
}

/**
 * What to do about an object that is wanted no more. It goes only by record and by mark; one that takes others' objects
 * with it when it goes (a container: a Namespace, a CustomResourceDefinition) only if it came with us, and not if what depends on
 * a removed object is to stay. One that another agent has signed since is that one's. Where the cluster has accepted nothing by this record, that nobody else
 * has signed is not enough: the signature has to be this one's.
 */
export function decideRemoval(record: OwnerRecord, live: KubeObject | undefined, of: RemovedFrom): Removal {
  if (!live) return { do: 'forget' };
  const uid = live.metadata.uid ?? '';
  const signer = signerOf(live, record, of.agent);
  const isOurs = record.uid === '' ? signer === 'us' : record.uid === uid && signer !== 'another';
  if (!isMarked(live) || !isOurs) return { do: 'forget' };
  if (of.isContainer && (!record.created || record.deletion === 'Orphan')) return { do: 'release' };
  return live.metadata.deletionTimestamp === undefined ? { do: 'remove', uid } : { do: 'wait' };
}
