/** Labels of Nodes that nobody should use any more, and selectors that name them. */
import { ownField } from '../../../object/json-value.ts';
import { recordsIn } from '../../../object/pod-template.ts';
import { labelValue } from '../validation/formats.ts';
import { renamedLabels } from '../validation/renamed-labels.ts';
import { textsOf, wordOf } from '../validation/visit.ts';
import { listIn, valuesIn, type Warnings } from './warning.ts';

const oldLabels: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(renamedLabels).map(([label, { since, newer }]) => [
      label,
      `deprecated since ${since}; use "${newer}" instead`,
    ]),
  ),
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods': 'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
};

/** Calls `shown` with each old label among the names. */
export function* oldLabelsIn(names: Iterable<string>, shown: (label: string, why: string) => string): Warnings {
  for (const label of names) {
    const why = ownField(oldLabels, label);
    if (why !== undefined) yield shown(label, why);
  }
}

export function oldLabelAt(label: unknown, path: string): Warnings {
  return oldLabelsIn([wordOf(label)], (name, why) => `${path}: ${name} is ${why}`);
}

/** `isPreference`: nothing else checks the values. */
export function* termWarnings(term: unknown, path: string, isPreference = false): Warnings {
  for (const [i, { key, values }] of recordsIn(valuesIn(term), 'matchExpressions').entries()) {
    const at = `${path}.matchExpressions[${i}]`;
    yield* oldLabelAt(key, `${at}.key`);
    for (const [j, value] of isPreference ? textsOf(values).entries() : []) {
      for (const mistake of labelValue(value)) yield `${at}.values[${j}]: ${value} is invalid, ${mistake}`;
    }
  }
}

/** A selector of Nodes in the form of a label selector. */
export function* nodeSelectorWarnings(selector: unknown, path: string): Warnings {
  yield* termWarnings(selector, path);
  const names = Object.keys(valuesIn(selector, 'matchLabels'));
  yield* oldLabelsIn(names, (label, why) => `${path}.matchLabels.${label}: ${why}`);
}

export function* topologyWarnings(topologies: unknown): Warnings {
  for (const [i, topology] of listIn({ topologies }, 'topologies').entries()) {
    for (const [j, { key }] of recordsIn(valuesIn(topology), 'matchLabelExpressions').entries()) {
      const at = `allowedTopologies[${i}].matchLabelExpressions[${j}].key`;
      yield* oldLabelsIn([wordOf(key)], (_, why) => `${at}: ${why}`);
    }
  }
}
