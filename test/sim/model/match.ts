/** Finds the places that a planned placement names. Written from the text of the reference, so that the model shares no mistake with the product. */
import type { Expression, Labels, Selector } from '../plan/action.ts';

export function matchesAny(selectors: readonly Selector[], labels: Labels): boolean {
  return selectors.some((selector) => matches(selector, labels));
}

export function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  for (const [key, value] of Object.entries(matchLabels)) if (labels[key] !== value) return false;
  for (const { key, operator, values = [] } of matchExpressions) {
    const has = labels[key] !== undefined;
    if (operator === 'Exists' && !has) return false;
    if (operator === 'DoesNotExist' && has) return false;
    if (operator === 'In' && !(has && values.includes(labels[key]!))) return false;
    // As in Kubernetes: an object without the label has none of these values.
    if (operator === 'NotIn' && has && values.includes(labels[key]!)) return false;
  }
  return true;
}

/** The text of an expression, as a user writes it. */
export function celOf({ key, value, has }: Expression): string {
  const asked = `"${key}" in location.metadata.labels && location.metadata.labels["${key}"] == "${value}"`;
  return has ? asked : `!(${asked})`;
}

/** Whether the expression holds for the place. Supports only expressions that plans make, over labels and properties. */
export function holds(cel: string, place: { readonly labels: Labels; readonly properties: Labels }): boolean {
  const found = /^(!\()?"(\w+)" in (location\.metadata\.labels|properties) && \3\["\2"\] == "(\w+)"\)?$/.exec(cel);
  if (!found) throw new Error(`an expression that no plan makes: ${cel}`);
  const [, not, key = '', of, value = ''] = found;
  const has = of === 'properties' ? place.properties[key] : place.labels[key];
  return (has === value) !== (not !== undefined);
}
