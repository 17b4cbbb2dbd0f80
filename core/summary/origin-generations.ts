/**
 * `observedGeneration` counts generations of the object at the destination. This function translates it, so that tools at the origin understand it. A fully
 * observed object (`observed >= local`) gets the generation of the origin's object that was applied; any other gets the generation before it.
 */
import type { Status } from './destination-status.ts';

/** `generation`: the generation of the origin's object that the cluster has accepted. `local`: the generation of the object on the cluster. */
export function inTermsOfOrigin(status: Status, generation: number | undefined, local: number | undefined): Status {
  if (generation === undefined || local === undefined) return status;
  const translated = (observed: number) => (observed >= local ? generation : Math.max(0, generation - 1));
  const conditions = Array.isArray(status.conditions)
    ? { conditions: status.conditions.map((one) => observed(one, translated)) }
    : {};
  return { ...(observed(status, translated) as Status), ...conditions };
}

function observed(value: unknown, translated: (observed: number) => number): unknown {
  if (typeof value !== 'object' || value === null || !('observedGeneration' in value)) return value;
  const { observedGeneration } = value;
  return typeof observedGeneration === 'number'
    ? { ...value, observedGeneration: translated(observedGeneration) }
    : value;
}
