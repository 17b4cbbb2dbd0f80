/** Decides whether a label selector stays within another one, the bound, and makes a selector that does. */
import { equalJson } from '../object/json-value.ts';
import { type LabelRequirement, type LabelSelector, matchesRequirement, requirementsOf } from '../object/selector.ts';

/**
 * Returns true if everything that the selector matches, the bound matches too. The answer comes from the requirements alone, and not from any labels. It is
 * false in rare cases in which only a solver could tell, such as two ranges of numbers.
 */
export function isWithinSelector(selector: LabelSelector, bound: LabelSelector): boolean {
  const requirements = requirementsOf(selector);
  return requirementsOf(bound).every((required) => {
    const ofKey = requirements.filter(({ key }) => key === required.key);
    return implies(ofKey, required);
  });
}

/** Returns a selector that matches what both match: the selector itself if it is within the bound. */
export function narrowedSelector(selector: LabelSelector, bound: LabelSelector): LabelSelector {
  if (isWithinSelector(selector, bound)) return selector;
  return { matchExpressions: [...requirementsOf(selector), ...requirementsOf(bound)] };
}

/** All requirements are about one label. */
function implies(given: readonly LabelRequirement[], required: LabelRequirement): boolean {
  if (given.some((one) => equalJson(one, required))) return true;
  const lists = given.filter(({ operator }) => operator === 'In').map(({ values = [] }) => values);
  const [first, ...others] = lists;
  if (first) {
    const possible = first.filter((value) => others.every((list) => list.includes(value)));
    return possible.every((value) => matchesRequirement(required, { [required.key]: value }));
  }
  const operators = new Set(given.map(({ operator }) => operator));
  switch (required.operator) {
    case 'Exists':
      return operators.has('Exists') || operators.has('Gt') || operators.has('Lt');
    case 'DoesNotExist':
      return operators.has('DoesNotExist');
    case 'NotIn': {
      const excluded = given.filter(({ operator }) => operator === 'NotIn').flatMap(({ values = [] }) => values);
      return operators.has('DoesNotExist') || (required.values ?? []).every((value) => excluded.includes(value));
    }
    default:
      return false;
  }
}
