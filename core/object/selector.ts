/** Label selectors as Kubernetes defines them: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ */

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelRequirement[];
}

export interface LabelRequirement {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  values?: string[];
}

export type Labels = Readonly<Record<string, string>>;

/** Keeps the requirements of each selector: matching needs them once per destination, and a selector does not change after it was read. */
const requirements = new WeakMap<LabelSelector, readonly LabelRequirement[]>();

/** Turns matchLabels into In-requirements with one value each, then adds matchExpressions. */
export function requirementsOf(selector: LabelSelector): readonly LabelRequirement[] {
  const cached = requirements.get(selector);
  if (cached) return cached;
  const computed = computeRequirements(selector);
  requirements.set(selector, computed);
  return computed;
}

function computeRequirements(selector: LabelSelector): LabelRequirement[] {
  const equalities = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]): LabelRequirement => ({ key, operator: 'In', values: [value] }),
  );
  return [...equalities, ...(selector.matchExpressions ?? [])];
}

/** The selector in the syntax of queries: `app in (web),tier in (a,b),!old`. */
export function selectorText(selector: LabelSelector): string {
  return requirementsOf(selector).map(requirementText).join(',');
}

function requirementText({ key, operator, values = [] }: LabelRequirement): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values.join(',')})`;
    case 'NotIn':
      return `${key} notin (${values.join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    case 'Gt':
      return `${key}>${values[0]}`;
    case 'Lt':
      return `${key}<${values[0]}`;
  }
}

/** True if all requirements hold. A selector without requirements matches everything. */
export function matchesSelector(selector: LabelSelector, labels: Labels): boolean {
  return requirementsOf(selector).every((requirement) => matchesRequirement(requirement, labels));
}

/** NotIn and DoesNotExist are true for a missing key. Gt and Lt compare integers, and are false for a missing key. */
export function matchesRequirement(requirement: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && (requirement.values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(requirement.values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return isInteger(value) && Number(value) > Number(requirement.values?.[0]);
    case 'Lt':
      return isInteger(value) && Number(value) < Number(requirement.values?.[0]);
  }
}

export function isInteger(value: string | undefined): value is string {
  return value !== undefined && /^-?\d+$/.test(value);
}
