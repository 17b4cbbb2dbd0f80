/** The rules of a placement that concern reported state, and the summarizers that the rules name. */
import type { EdgePlacementSpec } from '../../../core/apiserver/kinds/edge-placement.ts';
import { parseBody } from '../../../core/object/canonical.ts';

type Items = Pick<Required<EdgePlacementSpec>, 'downsync' | 'upsync' | 'associated'>;

/** `placement` is the canonical body of the placement. */
export function itemsOf(placement: Uint8Array): Items {
  const { downsync = [], upsync = [], associated = [] } = parseBody(placement).spec as Partial<EdgePlacementSpec>;
  return { downsync, upsync, associated };
}

/** Returns the names of the StatusSummarizers, sorted. */
export function namesOf({ downsync, upsync, associated }: Items): string[] {
  return [...new Set([...downsync, ...upsync, ...associated].flatMap((item) => item.statusSummarizers ?? []))].sort();
}
