/** A destination as customization reads it, with only the given fields. */
import type { DestinationFacts } from '../../../../core/customize/customizer.ts';
import type { Labels } from '../../../../core/object/selector.ts';

export function factsOf(name: string, labels: Labels = {}, annotations: Labels = {}): DestinationFacts {
  return {
    location: { metadata: { name, labels, annotations } },
    syncTarget: { metadata: { name } },
    properties: {},
    path: name,
  };
}
