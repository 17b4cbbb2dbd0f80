/** What a placement's specification says of reported state: its rules, and the summarizers that they name. */
import type { EdgePlacementSpec } from '../../../core/apiserver/kinds/edge-placement.ts';
import { parseBody } from '../../../core/object/canonical.ts';

type Items = Pick<Required<EdgePlacementSpec>, 'downsync' | 'upsync' | 'associated'>;

/** Of its canonical body. */
export function itemsOf(placement: Uint8Array): Items {
  const { downsync = [], upsync = [], associated = [] } = parseBody(placement).spec as Partial<EdgePlacementSpec>;
  return { downsync, upsync, associated };
}

/** Of StatusSummarizers, sorted. */
export function namesOf({ downsync, upsync, associated }: Items): string[] {
  return [...new Set([...downsync, ...upsync, ...associated].flatMap((item) => item.statusSummarizers ?? []))].sort();
}
