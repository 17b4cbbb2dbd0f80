/** Decides what to do about one desired object. The decision depends on what is desired, what is on record, and what the cluster has. */

import type { AdoptRule, ApplyRules } from '../../core/entries/apply-rules.ts';
import type { PropagationPolicy } from '../../core/entries/down-attributes.ts';
import { hasEnded } from '../../core/object/ended.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { isTerminating, terminating, terminatingMessage } from '../../core/object/terminating.ts';
import { isMarked, marked, signatureOf } from '../cluster/mark.ts';
import { type Absence, absenceOf } from './absence.ts';
import { clusterKeeps } from './cluster-keeps.ts';
import { ignoredOf } from './ignored-fields.ts';
import { foreignOwner } from './keepers.ts';
import { type FromOrigin, isMadeAnew } from './made-anew.ts';
import type { OwnerRecord } from './owner-records.ts';
import { isAsRecorded } from './projection.ts';

export interface DesiredObject extends FromOrigin {
  readonly bodyHash: string;
  readonly createOnly: boolean;
  readonly rules: ApplyRules;
  readonly object: KubeObject;
  /** The uid of the origin's object. */
  readonly uid: string;
  /** A placement selects the object by its name (`objectNames`). */
  readonly named: boolean;
  /** The placements only have the object because their other objects need it: the object has to exist, with any content. */
  readonly isOnlyNeeded: boolean;
  /** How the agent removes the object when nobody wants it any more. Absent: no placement defines a way. */
  readonly deletion?: PropagationPolicy | undefined;
}

export type Decision =
  /**
   * `onlySignature`: the object is in the desired state, and only its signature has to change. `takesOver`: the object exists and the agent has not applied
   * it. The apply yields to the values of other managers, or overwrites them.
   */
  | { readonly do: 'apply'; readonly created: boolean; readonly onlySignature?: true; readonly takesOver?: TakeOver }
  /** The object does not exist, and the agent does not create it again. */
  | { readonly do: 'leaveAbsent'; readonly absence: Absence }
  /** Somebody has changed the object after it was applied, and the rules keep the change. The agent reports which fields differ. */
  | { readonly do: 'compare'; readonly live: KubeObject }
  /** The object stays as it is. */
  | { readonly do: 'keep' }
  /** The space has deleted the object and made it anew. The agent removes it, and creates it again. */
  | { readonly do: 'renew' }
  | { readonly do: 'wait'; readonly reason: string; readonly message: string }
  | { readonly do: 'refuse'; readonly reason: string; readonly message: string };

export type TakeOver = 'yielding' | 'overwriting';

/** `agent`: the path of this agent. `sawDeletion`: the agent has seen that somebody deleted the object on record before the object had ended. */
export function decide(
  wanted: DesiredObject,
  record: OwnerRecord | undefined,
  live: KubeObject | undefined,
  agent: string,
  sawDeletion = false,
): Decision {
  if (!live) {
    const absence = absenceOf(wanted, record, sawDeletion);
    return absence === undefined ? { do: 'apply', created: true } : { do: 'leaveAbsent', absence };
  }
  if (isTerminating(live)) {
    // The cluster deletes an ended Job in two steps. Its work is done in any case.
    if (hasEnded(live) && wasApplied(wanted, record, live)) return { do: 'keep' };
    return { do: 'wait', reason: terminating, message: terminatingMessage(live) };
  }
  const isOwn = isOurs(record, live, agent);
  if (isOwn && isMadeAnew(wanted, record, live)) return { do: 'renew' };
  if (wanted.createOnly) return { do: 'keep' };
  if (!isOwn) return decideTakeOver(wanted, live);
  if (isApplied(wanted, record, live)) {
    if (isDeletionSigned(live, wanted.deletion)) return { do: 'keep' };
    return { do: 'apply', created: record?.created ?? false, onlySignature: true };
  }
  if (wasApplied(wanted, record, live) && wanted.rules.drift !== 'Correct') {
    return wanted.rules.drift === 'Report' ? { do: 'compare', live } : { do: 'keep' };
  }
  // Another store of the agent may have applied this object. Then only the signature says whether the agent created it.
  const known = record?.uid === live.metadata.uid ? record : signatureOf(live);
  return { do: 'apply', created: known?.created ?? false };
}

/** Decides about an existing object that this agent has not applied. */
function decideTakeOver({ rules, named, isOnlyNeeded }: DesiredObject, live: KubeObject): Decision {
  const keptByCluster = clusterKeeps(live);
  // The Namespace `default` exists on every cluster. The objects in it need nothing else.
  if (keptByCluster !== undefined && isOnlyNeeded) return { do: 'keep' };
  const why = reasonNotToAdopt(live, rules.adopt, { keptByCluster, named });
  if (why !== undefined) return refusal(why);
  return { do: 'apply', created: false, takesOver: rules.adopt === 'Always' ? 'overwriting' : 'yielding' };
}

function refusal(why: string): Decision & { do: 'refuse' } {
  return { do: 'refuse', reason: 'NotOwned', message: `the object exists and is not taken over: ${why}` };
}

/** The refusal of an object that the site has with other values. `conflict`: the answer of the cluster to an apply that yields. */
export function refusedTakeOver(conflict: string): Decision & { do: 'refuse' } {
  // An API server writes several conflicts as a list with one line for each field.
  const fields = conflict.replaceAll(/\s*\n(?:- )?/g, ' ');
  return refusal(
    `the cluster has other values (${fields}). spec.adopt: Always would overwrite these values, and give them back when the placement goes`,
  );
}

function isDeletionSigned(live: KubeObject, deletion: PropagationPolicy | undefined): boolean {
  const signature = signatureOf(live);
  return deletion === undefined || signature === undefined || (signature.deletion ?? 'Background') === deletion;
}

/** Whether the object belongs to this agent: this agent has signed it, with any store; or nobody has signed it, and the record names this very object. */
function isOurs(record: OwnerRecord | undefined, live: KubeObject, agent: string): boolean {
  const signer = signerOf(live, record, agent);
  return signer === 'us' || (signer === 'nobody' && record !== undefined && record.uid === live.metadata.uid);
}

/**
 * Returns who signed the object. An agent may have moved to another place in the tree together with its store. Then the record has the old path, which the
 * signature still has. The label of the mark is no signature: controllers copy labels.
 */
export function signerOf(
  live: KubeObject,
  record: OwnerRecord | undefined,
  agent: string,
): 'us' | 'nobody' | 'another' {
  const signed = signatureOf(live)?.agent;
  if (signed === undefined) return 'nobody';
  return signed === agent || signed === record?.agent ? 'us' : 'another';
}

/**
 * Why the agent does not take over an existing object of somebody else. Undefined: the agent may take it over. An object that the cluster itself keeps is
 * taken only if a placement names it: a rule with `*` selects such an object mostly by accident.
 */
function reasonNotToAdopt(
  live: KubeObject,
  adopt: AdoptRule,
  { keptByCluster, named }: { readonly keptByCluster: string | undefined; readonly named: boolean },
): string | undefined {
  if (adopt === 'Always' && (keptByCluster === undefined || named)) return undefined;
  const other = signatureOf(live)?.agent;
  const owner = other === undefined ? (keptByCluster ?? foreignOwner(live)) : `the agent ${other} has applied it`;
  if (adopt === 'Never')
    return `spec.adopt of its EdgePlacement is Never${owner === undefined ? '' : `, and ${owner}`}`;
  const byName =
    keptByCluster === undefined || named ? '' : ', if an item of spec.downsync has its name in objectNames';
  return owner && `${owner} (spec.adopt: Always would take it${byName})`;
}

/** Whether the cluster has accepted this content for this very object. */
function wasApplied(wanted: DesiredObject, record: OwnerRecord | undefined, live: KubeObject): boolean {
  const { source, bodyHash } = wanted;
  return record?.uid === live.metadata.uid && record?.source === source && record.bodyHash === bodyHash;
}

/** Whether the cluster has the desired content, and nobody has changed the object since it was applied. */
export function isApplied(wanted: DesiredObject, record: OwnerRecord | undefined, live: KubeObject): boolean {
  if (!record || !wasApplied(wanted, record, live)) return false;
  const { object, source, rules } = wanted;
  return isAsRecorded(record.fingerprint, marked(object, source), live, ignoredOf(object, rules));
}

export type Removal =
  | { readonly do: 'remove'; readonly uid: string }
  /** The object does not exist, or does not belong to this agent. The agent only deletes the record. */
  | { readonly do: 'forget' }
  /** The object stays on the cluster without the mark, and gets back the values that it had before the agent (ownership-release.ts). */
  | { readonly do: 'release' }
  | { readonly do: 'wait' };

export interface RemovedFrom {
  /** The path of this agent. */
  readonly agent: string;
  readonly isContainer: boolean;
}

/**
 * Decides what to do about an object that nobody wants any more. The agent removes an object only if both its record and its mark allow it, and only if the
 * agent created the object: what was there before stays. A container (a Namespace or a CustomResourceDefinition) takes the objects of others with it. The
 * agent removes a container only if the rules do not say that dependents of a removed object stay. An object that another agent has signed meanwhile belongs to that agent. If the record has no
 * uid, the cluster has accepted nothing by this record. Then this agent must have signed the object; a missing signature is not enough.
 */
export function decideRemoval(record: OwnerRecord, live: KubeObject | undefined, of: RemovedFrom): Removal {
  if (!live) return { do: 'forget' };
  const uid = live.metadata.uid ?? '';
  const signer = signerOf(live, record, of.agent);
  const isOurs = record.uid === '' ? signer === 'us' : record.uid === uid && signer !== 'another';
  if (!isMarked(live) || !isOurs) return { do: 'forget' };
  if (!record.created || (of.isContainer && record.deletion === 'Orphan')) return { do: 'release' };
  return isTerminating(live) ? { do: 'wait' } : { do: 'remove', uid };
}
