/** A destination as customization sees it, of which a test says no more than this. */
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
