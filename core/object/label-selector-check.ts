/** Checks label selectors. The messages are those of the Kubernetes API server (apimachinery's metav1 validation). */

import type { Cause } from '../runtime/errors.ts';
import { forbiddenField, invalidField, required } from './field-error.ts';
import { checkLabelKey, checkLabelValue } from './names.ts';
import { isInteger, type LabelRequirement, type LabelSelector } from './selector.ts';

export function checkSelectors(selectors: readonly LabelSelector[] | undefined, field: string): Cause[] {
  return (selectors ?? []).flatMap((selector, index) => checkSelector(selector, `${field}[${index}]`));
}

export function checkSelector(selector: LabelSelector, field: string): Cause[] {
  const causes: Cause[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    const wrongKey = checkLabelKey(key);
    const wrongValue = checkLabelValue(value);
    if (wrongKey) causes.push(invalidField(`${field}.matchLabels`, key, wrongKey));
    if (wrongValue) causes.push(invalidField(`${field}.matchLabels[${key}]`, value, wrongValue));
  }
  for (const [index, requirement] of (selector.matchExpressions ?? []).entries()) {
    causes.push(...checkRequirement(requirement, `${field}.matchExpressions[${index}]`));
  }
  return causes;
}

function checkRequirement({ key, operator, values = [] }: LabelRequirement, field: string): Cause[] {
  const causes: Cause[] = [];
  const wrongKey = checkLabelKey(key);
  if (wrongKey) causes.push(invalidField(`${field}.key`, key, wrongKey));
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        causes.push(required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        causes.push(
          forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        );
      }
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1 || !isInteger(values[0])) {
        causes.push(invalidField(`${field}.values`, values, "must be one integer when `operator` is 'Gt' or 'Lt'"));
      }
      break;
  }
  for (const [index, value] of values.entries()) {
    const wrong = checkLabelValue(value);
    if (wrong) causes.push(invalidField(`${field}.values[${index}]`, value, wrong));
  }
  return causes;
}
