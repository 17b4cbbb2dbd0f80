/** What to do about one object that is wanted: a function of what is wanted, what was done before and what the cluster holds. */
import type { KubeObject } from '../../core/object/meta.ts';
import { foreignOwner, isMarked, marked } from './mark.ts';
import type { OwnerRecord } from './owner-records.ts';
import { fingerprint } from './projection.ts';

export interface Wanted {
  readonly source: string;
  readonly bodyHash: string;
  readonly createOnly: boolean;
  readonly object: KubeObject;
}

export type Decision =
  | { readonly do: 'apply'; readonly created: boolean }
  /** The cluster has it already. */
  | { readonly do: 'keep' }
  | { readonly do: 'wait'; readonly reason: string; readonly message: string }
  | { readonly do: 'refuse'; readonly reason: string; readonly message: string };

export function decide(wanted: Wanted, record: OwnerRecord | undefined, live: KubeObject | undefined): Decision {
  if (!live) return { do: 'apply', created: true };
  if (live.metadata.deletionTimestamp !== undefined) {
    return {
      do: 'wait',
      reason: 'Terminating',
      message: 'the object is being deleted; it is applied again when it is gone',
    };
  }
  if (wanted.createOnly) return { do: 'keep' };
  const ours = isMarked(live) || (record !== undefined && record.uid === live.metadata.uid);
  const owner = ours ? undefined : foreignOwner(live);
  if (owner !== undefined) {
    return { do: 'refuse', reason: 'NotOwned', message: `the object exists and is not taken over: ${owner}` };
  }
  return isApplied(wanted, record, live) ? { do: 'keep' } : { do: 'apply', created: record?.created ?? false };
}

/** The cluster holds the content that is wanted, unchanged since it was applied. */
export function isApplied(wanted: Wanted, record: OwnerRecord | undefined, live: KubeObject): boolean {
  return (
    record !== undefined &&
    record.uid === live.metadata.uid &&
    record.source === wanted.source &&
    record.bodyHash === wanted.bodyHash &&
    record.fingerprint === fingerprint(marked(wanted.object, wanted.source), live)
  );
}

export type Removal =
  | { readonly do: 'remove'; readonly uid: string }
  /** It is not there, or not ours: only the record goes. */
  | { readonly do: 'forget' }
  /** It stays on the cluster without what was applied to it, the mark included. */
  | { readonly do: 'release' }
  | { readonly do: 'wait' };

/**
 * What to do about an object that is wanted no more. It goes only by record and by mark; one that takes others' objects
 * with it when it goes (a container: a Namespace, a CustomResourceDefinition) only if it came with us, and not if what depends on
 * a removed object is to stay.
 */
export function decideRemoval(record: OwnerRecord, live: KubeObject | undefined, container: boolean): Removal {
  if (!live) return { do: 'forget' };
  const uid = live.metadata.uid ?? '';
  if (!isMarked(live) || (record.uid !== '' && record.uid !== uid)) return { do: 'forget' };
  if (container && (!record.created || record.deletion === 'Orphan')) return { do: 'release' };
  return live.metadata.deletionTimestamp === undefined ? { do: 'remove', uid } : { do: 'wait' };
}
