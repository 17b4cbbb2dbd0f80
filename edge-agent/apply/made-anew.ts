/**
 * Whether the object on the cluster is a former one: the space has deleted the object that the agent applied, and made another one under the same name. A
 * cluster that was there in between has seen the deletion. A cluster that was away gets the same state: the agent removes the object, and creates it again
 * (decision 0050). An unknown uid is no reason to remove anything: the space may have lost its store, and somebody may have applied the same objects again.
 */
import { shortUid } from '../../core/entries/former-uids.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { OwnerRecord } from './owner-records.ts';

export interface FromOrigin {
  readonly source: string;
  /** The uid of the object in its space. */
  readonly uid: string;
  /** The short uids of its former objects of the same name. */
  readonly former: readonly string[];
}

export function isMadeAnew(wanted: FromOrigin, record: OwnerRecord | undefined, live: KubeObject): boolean {
  if (record?.origin === undefined || record.source !== wanted.source) return false;
  // The record must be about this very object, and not about one that somebody has put in its place.
  if (record.uid === '' || record.uid !== live.metadata.uid) return false;
  return record.origin !== shortUid(wanted.uid) && wanted.former.includes(record.origin);
}
