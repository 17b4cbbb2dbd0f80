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

/** Nobody changes a selector after it was read, and matching asks for the requirements once for each destination. */
const requirements = new WeakMap<LabelSelector, readonly LabelRequirement[]>();

/** matchLabels as In-requirements of one value, then matchExpressions. */
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

/** True if all requirements hold. A selector without requirements matches everything. */
export function matchesSelector(selector: LabelSelector, labels: Labels): boolean {
  return requirementsOf(selector).every((requirement) => matchesRequirement(requirement, labels));
}

/** NotIn and DoesNotExist hold for a missing key. Gt and Lt compare integers, and never hold for a missing key. */
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
