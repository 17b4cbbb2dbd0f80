/** ResourceQuotas and LimitRanges. */
import { ownField } from '../../../object/json-value.ts';
import { qualifiedName } from './formats.ts';
import {
  amounts,
  amountText,
  anyResourceName,
  containerResourceName,
  isQuotaResource,
  mayOvercommit,
  nanosOf,
  quotaResourceName,
} from './resources.ts';
import {
  each,
  type FieldCheck,
  fields,
  isPresent,
  listOf,
  type ReadValues,
  recordOf,
  recordsOf,
  textOfForm,
  textsOf,
  type Visit,
  wordOf,
} from './visit.ts';

const pods = ['pods'];
const podAmounts = [...pods, 'cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];
const claims = ['persistentvolumeclaims', 'requests.storage'];
/** The resources that each scope of a quota can count. */
const countedBy: ReadonlyMap<string, readonly string[]> = new Map([
  ['Terminating', podAmounts],
  ['NotTerminating', podAmounts],
  ['BestEffort', pods],
  ['NotBestEffort', podAmounts],
  ['PriorityClass', podAmounts],
  ['CrossNamespacePodAffinity', podAmounts],
  ['VolumeAttributesClass', claims],
]);
const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];
const withoutValues = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];

function isCounted(scope: string, resource: string): boolean {
  return !isQuotaResource(resource) || (countedBy.get(scope)?.includes(resource) ?? true);
}

function conflicting(given: readonly string[], shown: unknown, at: Visit): void {
  for (const pair of opposites) {
    if (pair.every((scope) => given.includes(scope))) at.invalid('', shown, 'conflicting scopes');
  }
}

function scopes(hard: ReadValues): FieldCheck {
  return (value, at) => {
    const given = textsOf(value);
    for (const scope of given) {
      if (!countedBy.has(scope)) at.invalid('', given, 'unsupported scope');
      for (const resource of Object.keys(hard).sort()) {
        if (!isCounted(scope, resource)) at.invalid('', given, 'unsupported scope applied to resource');
      }
    }
    conflicting(given, given, at);
  };
}

/** As in Kubernetes, the paths of these causes have no index. */
function scopeSelector(hard: ReadValues, allScopes: unknown): FieldCheck {
  return (value, at) => {
    const requirements = recordsOf(recordOf(value).matchExpressions);
    at.into('matchExpressions', requirements, () => {
      for (const requirement of requirements) scopeRequirement(requirement, hard, value, at);
      conflicting(
        requirements.map(({ scopeName }) => wordOf(scopeName)),
        allScopes ?? null,
        at,
      );
    });
  };
}

function scopeRequirement(
  { scopeName, operator, values }: ReadValues,
  hard: ReadValues,
  selector: unknown,
  at: Visit,
): void {
  const scope = wordOf(scopeName);
  const count = listOf(values).length;
  if (!countedBy.has(scope)) at.invalid('scopeName', scope, 'unsupported scope');
  for (const resource of Object.keys(hard).sort()) {
    if (!isCounted(scope, resource)) at.invalid('', selector, 'unsupported scope applied to resource');
  }
  if (withoutValues.includes(scope) && operator !== 'Exists') {
    const why =
      "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    at.invalid('operator', wordOf(operator), why);
  }
  if (operator === 'In' || operator === 'NotIn') {
    if (count > 0) return;
    at.required('values', "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (count === 0) return;
    const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    at.invalid('values', values, why);
  } else at.invalid('operator', wordOf(operator), 'not a valid selector operator');
}

const counts: FieldCheck = amounts(quotaResourceName);

export const resourceQuota: FieldCheck = (value, at) => {
  const { spec, status } = recordOf(value);
  const { hard, scopeSelector: selector, scopes: given } = recordOf(spec);
  at.into('spec', spec, () => {
    fields({ hard: counts, scopes: scopes(recordOf(hard)) })(spec, at);
    if (isPresent(selector)) at.into('scopeSelector', selector, scopeSelector(recordOf(hard), given));
  });
  at.into('status', status, fields({ hard: counts, used: counts }));
  if (!at.old) return;
  const before = [...new Set(textsOf(recordOf(at.old.spec).scopes))].sort();
  const now = [...new Set(textsOf(given))].sort();
  if (before.join() !== now.join()) at.invalid('spec.scopes', given ?? null, 'field is immutable');
};

const limitType: FieldCheck = textOfForm((type) => {
  const mistakes = qualifiedName(type);
  if (mistakes.length > 0 || type.includes('/')) return mistakes;
  const isStandard = ['Pod', 'Container', 'PersistentVolumeClaim'].includes(type);
  return isStandard ? [] : ['must be a standard limit type or fully qualified'];
});

interface Limits {
  readonly min: ReadValues;
  readonly max: ReadValues;
  readonly default: ReadValues;
  readonly defaultRequest: ReadValues;
  readonly maxLimitRequestRatio: ReadValues;
}

/** [smaller, its name, greater, its name, the field of the cause, the value that the cause shows]. */
const orders: readonly (readonly [keyof Limits, string, keyof Limits, string, keyof Limits, keyof Limits])[] = [
  ['min', 'min', 'max', 'max', 'min', 'min'],
  ['min', 'min', 'defaultRequest', 'default request', 'defaultRequest', 'defaultRequest'],
  ['defaultRequest', 'default request', 'max', 'max', 'defaultRequest', 'defaultRequest'],
  ['defaultRequest', 'default request', 'default', 'default limit', 'defaultRequest', 'defaultRequest'],
  ['min', 'min', 'default', 'default', 'default', 'min'],
  ['default', 'default', 'max', 'max', 'default', 'max'],
];

function ordered(limits: Limits, resource: string, at: Visit): void {
  for (const [smaller, name, greater, otherName, field, shown] of orders) {
    const a = ownField(limits[smaller], resource);
    const b = ownField(limits[greater], resource);
    if (!isPresent(a) || !isPresent(b) || nanosOf(a) <= nanosOf(b)) continue;
    const why = `${name} value ${amountText(a)} is greater than ${otherName} value ${amountText(b)}`;
    at.invalid(`${field}[${resource}]`, amountText(ownField(limits[shown], resource)), why);
  }
  ratioOf(limits, resource, at);
  const limit = ownField(limits.default, resource);
  const request = ownField(limits.defaultRequest, resource);
  const bothGiven = isPresent(limit) && isPresent(request);
  if (bothGiven && !mayOvercommit(resource) && nanosOf(limit) !== nanosOf(request)) {
    const wanted = amountText(request);
    const why = `default value ${amountText(limit)} must equal to defaultRequest value ${wanted} in ${resource}`;
    at.invalid(`defaultRequest[${resource}]`, wanted, why);
  }
}

function ratioOf(limits: Limits, resource: string, at: Visit): void {
  const ratio = ownField(limits.maxLimitRequestRatio, resource);
  const min = ownField(limits.min, resource);
  const max = ownField(limits.max, resource);
  const field = `maxLimitRequestRatio[${resource}]`;
  if (!isPresent(ratio)) return;
  const shown = amountText(ratio);
  if (nanosOf(ratio) < nanosOf(1)) at.invalid(field, shown, `ratio ${shown} is less than 1`);
  if (!isPresent(min) || !isPresent(max)) return;
  const highest = Number(nanosOf(max)) / Number(nanosOf(min));
  if (Number(nanosOf(ratio)) / 1e9 > highest) {
    at.invalid(field, shown, `ratio ${shown} is greater than max/min = ${highest.toFixed(6)}`);
  }
}

const limit: FieldCheck = (value, at) => {
  const given = recordOf(value);
  const { type } = given;
  const check = type === 'Pod' || type === 'Container' ? containerResourceName : anyResourceName;
  const namesIn = (field: string) => {
    for (const name of Object.keys(recordOf(given[field]))) {
      for (const mistake of check(name)) at.invalid(`${field}[${name}]`, name, mistake);
    }
    return recordOf(given[field]);
  };
  const max = namesIn('max');
  const min = namesIn('min');
  let defaults: ReadValues = {};
  let requests: ReadValues = {};
  if (type === 'Pod') {
    for (const field of ['default', 'defaultRequest']) {
      if (Object.keys(recordOf(given[field])).length === 0) continue;
      at.forbidden(field, "may not be specified when `type` is 'Pod'");
    }
  } else {
    defaults = namesIn('default');
    requests = namesIn('defaultRequest');
  }
  if (type === 'PersistentVolumeClaim' && !isPresent(min.storage) && !isPresent(max.storage)) {
    const why = 'either minimum or maximum storage value is required, but neither was provided';
    at.required('limits', why);
  }
  const limits = {
    max,
    min,
    default: defaults,
    defaultRequest: requests,
    maxLimitRequestRatio: namesIn('maxLimitRequestRatio'),
  };
  const names = new Set(Object.values(limits).flatMap((of) => Object.keys(of)));
  for (const name of names) ordered(limits, name, at);
};

export const limitRange: FieldCheck = fields({
  spec: fields({
    limits: (value, at) => {
      const types = new Set<unknown>();
      each((item, here) => {
        const { type } = recordOf(item);
        here.into('type', type, limitType);
        if (types.has(type)) here.duplicate('type', type);
        types.add(type);
        limit(item, here);
      })(value, at);
    },
  }),
});
