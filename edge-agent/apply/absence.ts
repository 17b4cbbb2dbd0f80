/**
 * Decides about a desired object that the agent had applied and that is not on the cluster any more. Mostly the agent creates it again. It does not if the
 * object has ended by itself, or if the rules leave the object to the cluster.
 */

import type { ApplyRules } from '../../core/entries/apply-rules.ts';
import { shortUid } from '../../core/entries/former-uids.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { isDeletedAfterEnd, mayEnd } from '../../core/object/ended.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { OwnerRecord } from './owner-records.ts';

/**
 * Why the agent does not create the object again. `Ended`: it has ended, and the store has its last observation. `EndedUnseen`: it was deleted while the agent
 * did not watch, and its cluster deletes such objects by itself after their end. `Deleted`: somebody deleted it, and the rules ignore this. `DeletedReported`:
 * the same, and the rules say that the agent reports it.
 */
export type Absence = 'Ended' | 'EndedUnseen' | 'Deleted' | 'DeletedReported';

/** A desired object that is not on the cluster. See DesiredObject in decide.ts. */
export interface AbsentObject {
  readonly source: string;
  readonly uid: string;
  readonly bodyHash: string;
  readonly createOnly: boolean;
  readonly rules: ApplyRules;
  readonly object: KubeObject;
}

/**
 * Returns undefined if the agent creates the object: for the first time; or again, because its content has changed, because the origin has made it anew
 * (another uid), or because the rules correct a deletion.
 *
 * A Job that the cluster deletes by itself (`ttlSecondsAfterFinished`) may end and disappear while the agent does not watch. The Job was there, so it counts
 * as ended: to run a Job twice is worse than to miss a Job that somebody deleted in the middle of its work during the same time.
 */
export function absenceOf(
  wanted: AbsentObject,
  record: OwnerRecord | undefined,
  sawDeletion: boolean,
): Absence | undefined {
  if (!record || record.source !== wanted.source || record.origin !== shortUid(wanted.uid)) return undefined;
  const wasThere = record.uid !== '';
  const isSameBody = record.bodyHash === wanted.bodyHash;
  if (wasThere && (isSameBody || record.specHash === specHashOf(wanted.object))) {
    if (record.ended) return 'Ended';
    if (isDeletedAfterEnd(wanted.object) && !sawDeletion) return 'EndedUnseen';
  }
  if (wanted.createOnly) return (wasThere && isSameBody) || record.leftFor === wanted.bodyHash ? 'Deleted' : undefined;
  if (!wasThere || !isSameBody || wanted.rules.drift === 'Correct') return undefined;
  return wanted.rules.drift === 'Report' ? 'DeletedReported' : 'Deleted';
}

/** The hash of the spec, for objects that may end. Undefined: objects of the kind do not end. A changed label alone does not make an ended Job run again. */
export function specHashOf(object: KubeObject): string | undefined {
  return mayEnd(object) ? Buffer.from(hash128(stableStringify(object.spec ?? {}))).toString('hex') : undefined;
}
