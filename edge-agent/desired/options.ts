/** Merges the options of all placements of one source for an object. Only placements that have arrived at this cluster count. */

import { type ApplyRules, togetherRules } from '../../core/entries/apply-rules.ts';
import type { PropagationPolicy, TargetAttributes } from '../../core/entries/down-attributes.ts';
import { compareClaims, type DeliveryClaim } from '../../core/match/precedence.ts';
import { stableStringify } from '../../core/object/canonical.ts';

export interface Options {
  /** The strongest placement. Undefined: no placement has arrived yet. */
  readonly claim: DeliveryClaim | undefined;
  /**
   * True: the agent creates the object once, and then leaves it to the cluster. All placements must want this. Until a target has arrived, one placement that
   * wants this is enough.
   */
  readonly createOnly: boolean;
  /** True: a placement has an item that selects the object by its name. Only then may the agent take over an object that the cluster itself keeps. */
  readonly named: boolean;
  /** The most careful of the ways that the placements define. Undefined: no target has arrived yet, and the way on record stays. */
  readonly deletion: PropagationPolicy | undefined;
  /** The merged rules. The defaults: no target has arrived yet. */
  readonly rules: ApplyRules;
}

const mostCarefulFirst: readonly PropagationPolicy[] = ['Orphan', 'Foreground', 'Background'];

/** Names of placements, as the row of the object has them. */
export interface Wanting {
  /** The placements that want the object. */
  readonly names: readonly string[];
  /** The placements that want the agent only to create the object. */
  readonly createOnly: readonly string[];
  /** The placements that select the object by its name. */
  readonly named: readonly string[];
}

export function deliveryOptionsOf(
  { names, createOnly, named }: Wanting,
  targetOf: (placement: string) => TargetAttributes | undefined,
): Options {
  const arrived: { placement: string; target: TargetAttributes }[] = [];
  for (const placement of names) {
    const target = targetOf(placement);
    if (target) arrived.push({ placement, target });
  }
  const claims = arrived.map(({ placement, target }) => claimOf(placement, target)).sort(compareClaims);
  return {
    claim: claims[0],
    createOnly:
      arrived.length > 0 ? arrived.every(({ placement }) => createOnly.includes(placement)) : createOnly.length > 0,
    named: arrived.some(({ placement }) => named.includes(placement)),
    deletion: mostCarefulFirst.find((policy) =>
      arrived.some(({ target }) => (target.deletion ?? 'Background') === policy),
    ),
    rules: togetherRules(arrived.map(({ target }) => target.apply ?? {})),
  };
}

/** Whether two targets of a placement have the same options for the objects of the placement. Most changes of a target change only the target's revision. */
export function sameOptions(a: TargetAttributes | undefined, b: TargetAttributes | undefined): boolean {
  if (!a || !b) return a === b;
  const sameClaim = a.priority === b.priority && a.created === b.created && a.uid === b.uid;
  return sameClaim && a.deletion === b.deletion && stableStringify(a.apply ?? {}) === stableStringify(b.apply ?? {});
}

function claimOf(placement: string, { priority, created, uid }: TargetAttributes): DeliveryClaim {
  return { placement, priority, created, uid };
}
