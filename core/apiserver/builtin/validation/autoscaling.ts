/** HorizontalPodAutoscalers, in the form of autoscaling/v2, and PodDisruptionBudgets. */
import { ownField } from '../../../object/json-value.ts';
import { dnsLabel, pathSegment } from './formats.ts';
import { containerResource, nanosOf } from './resources.ts';
import { selectorRule } from './selectors.ts';
import {
  all,
  atLeast,
  each,
  type FieldCheck,
  fields,
  ifGiven,
  isPresent,
  needed,
  numberOf,
  oneOf,
  type ReadValues,
  recordOf,
  requiredThen,
  textOfForm,
  wordOf,
} from './visit.ts';
import { intOrPercent, notMoreThanAll } from './workloads.ts';

const segment: FieldCheck = requiredThen(textOfForm(pathSegment));
const apiVersion: FieldCheck = (value, at) => {
  const version = wordOf(value);
  if (version.split('/').length > 2) at.invalid('', version, `unexpected GroupVersion string: ${version}`);
};
const described: FieldCheck = fields({ kind: segment, name: segment, apiVersion });

/** Only ReplicationControllers are in the group without a name. */
const scaled: FieldCheck = (value, at) => {
  const { kind, apiVersion: version } = recordOf(value);
  const before = recordOf(recordOf(at.old?.spec).scaleTargetRef);
  fields({ kind: segment, name: segment })(value, at);
  if (at.old && before.kind === kind && before.apiVersion === version) return;
  at.into('apiVersion', version, apiVersion);
  const [group = '', ...rest] = wordOf(version).split('/', 3);
  if (kind !== 'ReplicationController' && rest.length < 2 && (group === '' || rest.length === 0)) {
    at.invalid('apiVersion', wordOf(version), 'apiVersion must specify API group');
  }
};

const amount: FieldCheck = ifGiven((value, at) => {
  if (nanosOf(value) <= 0n) at.invalid('', value, 'must be positive');
});
const targetTypes = ['Utilization', 'Value', 'AverageValue'];
const target: FieldCheck = all(
  (value, at) => {
    const type = wordOf(recordOf(value).type);
    if (type === '') at.required('type', 'must specify a metric target type');
    if (!targetTypes.includes(type)) at.invalid('type', type, 'must be either Utilization, Value, or AverageValue');
  },
  fields({
    value: amount,
    averageValue: amount,
    averageUtilization: ifGiven(atLeast(1, 'must be greater than 0')),
  }),
);

const metric: FieldCheck = fields({ name: requiredThen(textOfForm(pathSegment), 'must specify a metric name') });

/** Which values of the target a source needs, and which exclude each other. */
function targetOf(
  needs: readonly string[],
  [missing, why]: readonly [string, string],
  excluded?: readonly [string, string],
): FieldCheck {
  return (value, at) => {
    const { target: given } = recordOf(value);
    at.into('target', given, target);
    const present = needs.filter((name) => isPresent(recordOf(given)[name]));
    if (present.length === 0) at.required(`target.${missing}`, why);
    if (excluded && present.length === 2) at.forbidden(`target.${excluded[0]}`, excluded[1]);
  };
}

const rawOrUtilization = targetOf(
  ['averageUtilization', 'averageValue'],
  ['averageUtilization', 'must set either a target raw value or a target utilization'],
  ['averageValue', 'may not set both a target raw value and a target utilization'],
);

const sources: Readonly<Record<string, FieldCheck>> = {
  object: all(
    fields({ describedObject: described, metric }),
    targetOf(['value', 'averageValue'], ['averageValue', 'must set either a target value or averageValue']),
  ),
  external: all(
    fields({ metric }),
    targetOf(
      ['value', 'averageValue'],
      ['averageValue', 'must set either a target value for metric or a per-pod target'],
      ['value', 'may not set both a target value for metric and a per-pod target'],
    ),
  ),
  pods: all(
    fields({ metric }),
    targetOf(['averageValue'], ['averageValue', 'must specify a positive target averageValue']),
  ),
  resource: all(fields({ name: needed('must specify a resource name') }), rawOrUtilization),
  containerResource: all(
    fields({
      name: requiredThen((value, at) => containerResource(wordOf(value), at), 'must specify a resource name'),
      container: requiredThen(textOfForm(dnsLabel), 'must specify a container'),
    }),
    rawOrUtilization,
  ),
};

const sourceOfType: ReadonlyMap<string, string> = new Map([
  ['ContainerResource', 'containerResource'],
  ['External', 'external'],
  ['Object', 'object'],
  ['Pods', 'pods'],
  ['Resource', 'resource'],
]);
const metricTypes = [...sourceOfType.keys()];

const metricSpec: FieldCheck = (value, at) => {
  const spec: ReadValues = recordOf(value);
  const type = wordOf(spec.type);
  const expected = sourceOfType.get(type);
  if (type === '') at.required('type', 'must specify a metric source type');
  if (expected === undefined) at.unsupported('type', type, metricTypes);
  const present = Object.keys(sources).filter((name) => isPresent(spec[name]));
  const [first] = present;
  if (first !== undefined) at.into(first, spec[first], ownField(sources, first)!);
  if (expected === undefined) at.unsupported('type', type, metricTypes);
  else if (!present.includes(expected)) {
    at.required(expected, 'must populate information for the given metric source');
  }
  if (present.length === 1) return;
  for (const name of present) {
    if (name !== expected) at.forbidden(name, 'must populate the given metric source only');
  }
};

const stabilizationMax = 3600;
const periodMax = 1800;

const policy: FieldCheck = fields({
  type: oneOf('Percent', 'Pods'),
  value: atLeast(1, 'must be greater than zero'),
  periodSeconds: [
    atLeast(1, 'must be greater than zero'),
    (value, at) => {
      if (numberOf(value) > periodMax) at.invalid('', value, `must be less than or equal to ${periodMax}`);
    },
  ],
});

const scalingRules: FieldCheck = ifGiven(
  fields({
    stabilizationWindowSeconds: ifGiven((value, at) => {
      if (numberOf(value) < 0) at.invalid('', value, 'must be greater than or equal to zero');
      if (numberOf(value) > stabilizationMax) {
        at.invalid('', value, `must be less than or equal to ${stabilizationMax}`);
      }
    }),
    selectPolicy: ifGiven(oneOf('Disabled', 'Max', 'Min')),
    policies: [needed('must specify at least one Policy'), each(policy)],
  }),
);

export const autoscaler: FieldCheck = fields({
  spec: all(
    (value, at) => {
      const { minReplicas: min, maxReplicas } = recordOf(value);
      const max = numberOf(maxReplicas);
      if (isPresent(min) && numberOf(min) < 1) at.invalid('minReplicas', min, 'must be greater than or equal to 1');
      if (max < 1) at.invalid('maxReplicas', max, 'must be greater than 0');
      if (isPresent(min) && max < numberOf(min)) {
        at.invalid('maxReplicas', max, 'must be greater than or equal to `minReplicas`');
      }
    },
    fields({ scaleTargetRef: scaled, metrics: each(metricSpec) }),
    (value, at) => {
      const { minReplicas, metrics } = recordOf(value);
      const scalesToNone =
        Array.isArray(metrics) && metrics.some((one) => ['Object', 'External'].includes(wordOf(recordOf(one).type)));
      if (minReplicas !== 0 || scalesToNone) return;
      at.forbidden(
        'metrics',
        'must specify at least one Object or External metric to support scaling to zero replicas',
      );
    },
    fields({ behavior: ifGiven(fields({ scaleUp: scalingRules, scaleDown: scalingRules })) }),
  ),
});

export const disruptionBudget: FieldCheck = fields({
  spec: all(
    (value, at) => {
      const { minAvailable, maxUnavailable } = recordOf(value);
      if (isPresent(minAvailable) && isPresent(maxUnavailable)) {
        at.invalid('', value, 'minAvailable and maxUnavailable cannot be both set');
      }
    },
    fields({
      minAvailable: ifGiven(all(intOrPercent, notMoreThanAll)),
      maxUnavailable: ifGiven(all(intOrPercent, notMoreThanAll)),
      selector: selectorRule,
      unhealthyPodEvictionPolicy: ifGiven(oneOf('AlwaysAllow', 'IfHealthyBudget')),
    }),
  ),
});
