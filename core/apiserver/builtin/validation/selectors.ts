/** Labels, selectors and tolerations in built-in kinds. */
import { ownField } from '../../../object/json-value.ts';
import { dnsSubdomain, labelValue, dnsLabel as namespaceName, qualifiedName } from './formats.ts';
import {
  all,
  between,
  each,
  type FieldCheck,
  fields,
  ifFilled,
  ifGiven,
  listOf,
  oneOf,
  type ReadValues,
  recordOf,
  recordsOf,
  requiredThen,
  textOfForm,
  textsOf,
  type Visit,
  wordOf,
} from './visit.ts';

export const labelName: FieldCheck = textOfForm(qualifiedName);

export const labels: FieldCheck = (value, at) => {
  for (const [key, label] of Object.entries(recordOf(value))) {
    for (const mistake of qualifiedName(key)) at.invalid('', key, mistake);
    for (const mistake of labelValue(wordOf(label))) at.invalid('', label, mistake);
  }
};

/** Maximal bytes of all annotations together, as in Kubernetes. */
const annotationBytesMax = 256 * 1024;

export const annotations: FieldCheck = (value, at) => {
  let bytes = 0;
  for (const [key, annotation] of Object.entries(recordOf(value))) {
    for (const mistake of qualifiedName(key.toLowerCase())) at.invalid('', key, mistake);
    bytes += Buffer.byteLength(key) + Buffer.byteLength(wordOf(annotation));
  }
  if (bytes > annotationBytesMax) at.tooLong('', annotationBytesMax);
};

const values: FieldCheck = each(textOfForm(labelValue));

const requirement: FieldCheck = all(
  operatorOf({ In: 'some', NotIn: 'some', Exists: 'none', DoesNotExist: 'none' }),
  fields({ key: labelName, values }),
);

export const selectorRule: FieldCheck = ifGiven(fields({ matchLabels: labels, matchExpressions: each(requirement) }));

/** False for selectors that Kubernetes can't match with anything. */
export function isReadableSelector(selector: unknown): boolean {
  const { matchLabels, matchExpressions } = recordOf(selector);
  const areLabels = Object.entries(recordOf(matchLabels)).every(
    ([key, value]) => qualifiedName(key).length + labelValue(wordOf(value)).length === 0,
  );
  return areLabels && recordsOf(matchExpressions).every(isReadableRequirement);
}

function isReadableRequirement({ key, operator, values: given }: ReadValues): boolean {
  const all = textsOf(given);
  const takesValues = operator === 'In' || operator === 'NotIn';
  if (!takesValues && operator !== 'Exists' && operator !== 'DoesNotExist') return false;
  if (takesValues !== all.length > 0 || qualifiedName(wordOf(key)).length > 0) return false;
  return all.every((value) => labelValue(value).length === 0);
}

/** True if a label selector selects by nothing. */
export function isEmptySelector(selector: unknown): boolean {
  const { matchLabels, matchExpressions } = recordOf(selector);
  return Object.keys(recordOf(matchLabels)).length + listOf(matchExpressions).length === 0;
}

const nodeRequirement: FieldCheck = all(
  operatorOf({ In: 'some', NotIn: 'some', Exists: 'none', DoesNotExist: 'none', Gt: 'one', Lt: 'one' }),
  fields({ key: labelName, values }),
);

const nodeRequirementOfPreference: FieldCheck = all(
  operatorOf({ In: 'some', NotIn: 'some', Exists: 'none', DoesNotExist: 'none', Gt: 'one', Lt: 'one' }),
  fields({ key: labelName }),
);

const nodeField: FieldCheck = (value, at) => {
  const { operator, key, values: names } = recordOf(value);
  if (operator !== 'In' && operator !== 'NotIn')
    at.invalid('operator', wordOf(operator), 'not a valid selector operator');
  else if (listOf(names).length !== 1) {
    at.required('values', "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  }
  if (key !== 'metadata.name') at.invalid('key', wordOf(key), 'not a valid field selector key');
  else at.into('values', names, each(textOfForm(dnsSubdomain)));
};

export const nodeSelector: FieldCheck = ifGiven(
  fields({
    nodeSelectorTerms: requiredThen(
      each(fields({ matchExpressions: each(nodeRequirement), matchFields: each(nodeField) })),
      'must have at least one node selector term',
    ),
  }),
);

const weight: FieldCheck = between(1, 100, 'must be in the range 1-100');

const nodeAffinity: FieldCheck = ifGiven(
  fields({
    requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
    preferredDuringSchedulingIgnoredDuringExecution: each(
      fields({
        weight,
        preference: fields({ matchExpressions: each(nodeRequirementOfPreference), matchFields: each(nodeField) }),
      }),
    ),
  }),
);

/** Keys of `matchLabelKeys`, which need a selector. */
export function labelKeys(selector: unknown): FieldCheck {
  return (value, at) => {
    if (listOf(value).length === 0) return;
    if (selector === undefined) at.forbidden('', 'must not be specified when labelSelector is not set');
    else each(labelName)(value, at);
  };
}

/** The keys with which a pod is compared to others. */
export function comparedKeys(term: ReadValues, at: Visit): void {
  const { matchLabelKeys, mismatchLabelKeys, labelSelector: selector } = term;
  at.into('matchLabelKeys', matchLabelKeys, labelKeys(selector));
  at.into('mismatchLabelKeys', mismatchLabelKeys, labelKeys(selector));
  const keys = listOf(matchLabelKeys);
  const { matchLabels, matchExpressions } = recordOf(selector);
  const selected = new Set<unknown>(Object.keys(recordOf(matchLabels)));
  for (const { key } of recordsOf(matchExpressions)) {
    if (keys.includes(key) && selected.has(key)) {
      at.invalid(`[${keys.lastIndexOf(key)}]`, key, 'exists in both matchLabelKeys and labelSelector');
    }
    selected.add(key);
  }
  for (const [i, key] of keys.entries()) {
    if (listOf(mismatchLabelKeys).includes(key)) {
      at.invalid(`matchLabelKeys[${i}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys');
    }
  }
}

const podAffinityTerm: FieldCheck = (value, at) => {
  const term = recordOf(value);
  fields({ labelSelector: selectorRule, namespaceSelector: selectorRule })(term, at);
  for (const namespace of listOf(term.namespaces)) at.into('namespace', namespace, textOfForm(namespaceName));
  comparedKeys(term, at);
  if (!term.topologyKey) at.required('topologyKey', 'can not be empty');
  at.into('topologyKey', term.topologyKey, labelName);
};

const podAffinity: FieldCheck = ifGiven(
  fields({
    requiredDuringSchedulingIgnoredDuringExecution: each(podAffinityTerm),
    preferredDuringSchedulingIgnoredDuringExecution: each(fields({ weight, podAffinityTerm })),
  }),
);

export const affinity: FieldCheck = ifGiven(fields({ nodeAffinity, podAffinity, podAntiAffinity: podAffinity }));

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
export const taintEffect: FieldCheck = oneOf(...effects);

export const toleration: FieldCheck = (value, at) => {
  const { key, operator, value: wanted, effect, tolerationSeconds } = recordOf(value);
  at.into('key', key, ifFilled(labelName));
  if (!key && operator !== 'Exists') {
    const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    at.invalid('operator', wordOf(operator), why);
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    at.invalid('effect', wordOf(effect), "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (operator === 'Exists') {
    if (wanted) at.invalid('operator', wanted, "value must be empty when `operator` is 'Exists'");
  } else if (operator === 'Equal' || !operator) {
    const mistakes = labelValue(wordOf(wanted));
    if (mistakes.length > 0) at.invalid('operator', wanted, mistakes.join(';'));
  } else {
    at.unsupported('operator', operator, ['Equal', 'Exists']);
  }
  at.into('effect', effect, ifFilled(taintEffect));
};

export const tolerations: FieldCheck = each(toleration);

/** The number of values that each operator needs. */
function operatorOf(of: Readonly<Record<string, 'some' | 'none' | 'one'>>): FieldCheck {
  const listed = "'In' or 'NotIn'";
  return (value, at) => {
    const { operator, values: given } = recordOf(value);
    const count = listOf(given).length;
    switch (ownField(of, wordOf(operator))) {
      case 'some':
        if (count === 0) at.required('values', `must be specified when \`operator\` is ${listed}`);
        return;
      case 'none':
        if (count > 0) {
          at.forbidden('values', "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        return;
      case 'one':
        if (count !== 1) at.required('values', "must be specified single value when `operator` is 'Lt' or 'Gt'");
        return;
      default:
        at.invalid('operator', wordOf(operator), 'not a valid selector operator');
    }
  };
}
