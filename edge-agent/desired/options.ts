/** What the placements of one source say together about an object, as far as they reach this cluster. */

import { type ApplyRules, togetherRules } from '../../core/entries/apply-rules.ts';
import type { PropagationPolicy, TargetAttributes } from '../../core/entries/down-attributes.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { compareClaims, type DeliveryClaim } from './claim.ts';

export interface Options {
  /** The strongest placement; undefined until one has arrived. */
  readonly claim: DeliveryClaim | undefined;
  /** Make it once and leave it to the cluster from then on: all of them say so. Until they have arrived, one that says so is enough. */
  readonly createOnly: boolean;
  /** The most careful of theirs; undefined while none is here: what is on record stays. */
  readonly deletion: PropagationPolicy | undefined;
  /** The defaults while none is here. */
  readonly rules: ApplyRules;
}

const mostCarefulFirst: readonly PropagationPolicy[] = ['Orphan', 'Foreground', 'Background'];

/** `wanting`: names of the placements that want the object; `createOnly`: those of them that say so. */
export function deliveryOptionsOf(
  wanting: readonly string[],
  createOnly: readonly string[],
  targetOf: (placement: string) => TargetAttributes | undefined,
): Options {
  const here: { placement: string; target: TargetAttributes }[] = [];
  for (const placement of wanting) {
    const target = targetOf(placement);
    if (target) here.push({ placement, target });
  }
  const claims = here.map(({ placement, target }) => claimOf(placement, target)).sort(compareClaims);
  return {
    claim: claims[0],
    createOnly: here.length > 0 ? here.every(({ placement }) => createOnly.includes(placement)) : createOnly.length > 0,
    deletion: mostCarefulFirst.find((policy) =>
      here.some(({ target }) => (target.deletion ?? 'Background') === policy),
    ),
    rules: togetherRules(here.map(({ target }) => target.apply ?? {})),
  };
}

/** Whether two targets of a placement say the same of its objects: most changes of a target are of its revision alone. */
export function sameOptions(a: TargetAttributes | undefined, b: TargetAttributes | undefined): boolean {
  if (!a || !b) return a === b;
  const sameClaim = a.priority === b.priority && a.created === b.created && a.uid === b.uid;
  return sameClaim && a.deletion === b.deletion && stableStringify(a.apply ?? {}) === stableStringify(b.apply ?? {});
}

function claimOf(placement: string, { priority, created, uid }: TargetAttributes): DeliveryClaim {
  return { placement, priority, created, uid };
}
