/** Jobs and CronJobs. */
import { type LabelSelector, matchesSelector } from '../../../object/selector.ts';
import { dnsLabel, domainPrefixedPath, qualifiedName } from './formats.ts';
import { indexCount } from './index-ranges.ts';
import { podTemplate } from './pods.ts';
import { isTimeZone, scheduleMistake } from './schedule.ts';
import { isReadableSelector, selectorRule } from './selectors.ts';
import { fixed, fixedWith, isSameValue } from './updates.ts';
import {
  all,
  each,
  type FieldCheck,
  fields,
  ifGiven,
  isPresent,
  listOf,
  longest,
  notNegative,
  numberOf,
  oneOf,
  type ReadValues,
  recordOf,
  recordsOf,
  requiredOneOf,
  requiredThen,
  textOfForm,
  type Visit,
  valueAtPath,
  wordOf,
} from './visit.ts';
import { unselected } from './workloads.ts';

const count: FieldCheck = ifGiven(notNegative);

const managedBy: FieldCheck = ifGiven((value, at) => {
  if (value === '') at.required();
  else for (const [part, mistake] of domainPrefixedPath(wordOf(value))) at.invalid('', part, mistake);
  longest(63)(value, at);
});

const many = 100_000;
const parallelMax = 10_000;

const completionMode: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  const { completionMode: mode, completions, parallelism, maxFailedIndexes, backoffLimitPerIndex } = spec;
  at.into('completionMode', mode, ifGiven(oneOf('NonIndexed', 'Indexed')));
  if (mode !== 'Indexed') {
    if (mode !== 'NonIndexed') return;
    const why = 'requires indexed completion mode';
    if (isPresent(backoffLimitPerIndex)) at.invalid('backoffLimitPerIndex', backoffLimitPerIndex, why);
    if (isPresent(maxFailedIndexes)) at.invalid('maxFailedIndexes', maxFailedIndexes, why);
    return;
  }
  const most = (field: string, max: number, detail: string) => {
    if (numberOf(spec[field]) > max) at.invalid(field, spec[field], `must be less than or equal to ${detail}`);
  };
  if (!isPresent(completions)) at.required('completions', 'when completion mode is Indexed');
  most('parallelism', many, `${many} when completion mode is Indexed`);
  if (isPresent(completions)) most('maxFailedIndexes', numberOf(completions), 'completions');
  most('maxFailedIndexes', many, `${many}`);
  if (numberOf(completions) <= many || !isPresent(backoffLimitPerIndex)) return;
  if (!isPresent(maxFailedIndexes)) {
    at.required('maxFailedIndexes', `must be specified when completions is above ${many}`);
  }
  const used = `${parallelMax} when completions are above ${many} and used with backoff limit per index`;
  if (isPresent(parallelism)) most('parallelism', parallelMax, used);
  most('maxFailedIndexes', parallelMax, used);
};

const quoted = (values: readonly string[]) => `valid values: [${values.map((value) => `"${value}"`).join(' ')}]`;
const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const statuses = ['False', 'True', 'Unknown'];
const exitOperators = ['In', 'NotIn'];

function listed(values: readonly string[]): FieldCheck {
  return requiredThen(oneOf(...values), quoted(values));
}

function exitCodes(containerNames: readonly unknown[]): FieldCheck {
  return (value, at) => {
    const { operator, containerName, values } = recordOf(value);
    at.into('operator', operator, listed(exitOperators));
    if (isPresent(containerName) && !containerNames.includes(containerName)) {
      const why = 'must be one of the container or initContainer names in the pod template';
      at.invalid('containerName', containerName, why);
    }
    const codes = listOf(values).map(numberOf);
    if (codes.length === 0) at.invalid('values', values ?? null, 'at least one value is required');
    else if (codes.length > 255) at.tooMany('values', codes.length, 255);
    for (const [i, code] of codes.entries()) {
      if (operator === 'In' && code === 0) at.invalid(`values[${i}]`, code, 'must not be 0 for the In operator');
      if (codes.indexOf(code) < i) at.duplicate(`values[${i}]`, code);
    }
    if (codes.some((code, i) => i > 0 && codes[i - 1]! > code)) at.invalid('values', codes, 'must be ordered');
  };
}

const podConditions: FieldCheck = (value, at) => {
  if (listOf(value).length > 20) at.tooMany('', listOf(value).length, 20);
  each(fields({ type: textOfForm(qualifiedName), status: listed(statuses) }))(value, at);
};

const failurePolicy: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  if (!isPresent(spec.podFailurePolicy)) return;
  const { rules } = recordOf(spec.podFailurePolicy);
  const pod = recordOf(recordOf(spec.template).spec);
  const names = [...recordsOf(pod.containers), ...recordsOf(pod.initContainers)].map(({ name }) => name);
  const codes = exitCodes(names);
  at.into('podFailurePolicy', undefined, () =>
    at.into('rules', rules, () => {
      if (listOf(rules).length > 20) at.tooMany('', listOf(rules).length, 20);
      each((rule) => failureRule(recordOf(rule), spec, codes, at))(rules, at);
    }),
  );
};

function failureRule(rule: ReadValues, spec: ReadValues, codes: FieldCheck, at: Visit): void {
  const { action, onExitCodes, onPodConditions } = rule;
  if (action !== 'FailIndex') at.into('action', action, listed(actions));
  else if (!isPresent(spec.backoffLimitPerIndex)) {
    at.invalid('action', action, 'requires the backoffLimitPerIndex to be set');
  }
  at.into('onExitCodes', onExitCodes, ifGiven(codes));
  at.into('onPodConditions', onPodConditions, podConditions);
  const hasConditions = listOf(onPodConditions).length > 0;
  const both = 'OnExitCodes and OnPodConditions is';
  if (isPresent(onExitCodes) && hasConditions) at.invalidAs('', `specifying both ${both} not supported`);
  if (!isPresent(onExitCodes) && !hasConditions) at.invalidAs('', `specifying one of ${both} required`);
}

const successPolicy: FieldCheck = (value, at) => {
  const { successPolicy: policy, completionMode: mode, completions } = recordOf(value);
  if (!isPresent(policy)) return;
  if (mode !== 'Indexed') {
    at.invalid('successPolicy', policy, 'requires indexed completion mode');
    return;
  }
  const rules = listOf(recordOf(policy).rules);
  at.into('successPolicy', policy, () =>
    at.into('rules', rules, () => {
      if (rules.length === 0) {
        at.required('', 'at least one rules must be specified when the successPolicy is specified');
      }
      if (rules.length > 20) at.tooMany('', rules.length, 20);
      each((rule) => successRule(recordOf(rule), numberOf(completions), at))(rules, at);
    }),
  );
};

function successRule(
  { succeededCount: wanted, succeededIndexes: indexes }: ReadValues,
  completions: number,
  at: Visit,
): void {
  if (!isPresent(wanted) && !isPresent(indexes)) {
    at.required('', 'at least one of succeededCount or succeededIndexes must be specified');
  }
  let total = 0;
  if (isPresent(indexes)) {
    const parsed = indexCount(wordOf(indexes), completions);
    if (typeof parsed === 'number') total = parsed;
    else at.invalid('succeededIndexes', indexes, `error parsing succeededIndexes: ${parsed}`);
  }
  if (!isPresent(wanted)) return;
  at.into('succeededCount', wanted, notNegative);
  const most = (max: number, what: string) => {
    if (numberOf(wanted) > max) at.invalid('succeededCount', wanted, `must be less than or equal to ${max} (${what})`);
  };
  most(completions, 'the number of specified completions');
  if (isPresent(indexes)) most(total, 'the number of indexes in the specified succeededIndexes field');
}

const replacement: FieldCheck = (value, at) => {
  const { podReplacementPolicy: policy, podFailurePolicy } = recordOf(value);
  const allowed = isPresent(podFailurePolicy) ? ['Failed'] : ['Failed', 'TerminatingOrFailed'];
  at.into('podReplacementPolicy', policy, ifGiven(oneOf(...allowed)));
};

const restart: FieldCheck = (value, at) => {
  const { template, podFailurePolicy } = recordOf(value);
  const policy = valueAtPath(template, 'spec.restartPolicy');
  const field = 'template.spec.restartPolicy';
  if (!policy || policy === 'Always') at.required(field, 'valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never') at.unsupported(field, policy, ['OnFailure', 'Never']);
  else if (isPresent(podFailurePolicy) && policy !== 'Never') {
    at.invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified');
  }
};

const jobSpec: FieldCheck = all(
  fields({
    parallelism: count,
    completions: count,
    activeDeadlineSeconds: count,
    backoffLimit: count,
    ttlSecondsAfterFinished: count,
    backoffLimitPerIndex: count,
    maxFailedIndexes: count,
  }),
  (value, at) => {
    const { maxFailedIndexes, backoffLimitPerIndex } = recordOf(value);
    if (isPresent(maxFailedIndexes) && !isPresent(backoffLimitPerIndex)) {
      at.required('backoffLimitPerIndex', 'when maxFailedIndexes is specified');
    }
  },
  fields({ managedBy }),
  completionMode,
  failurePolicy,
  successPolicy,
  replacement,
  fields({ template: podTemplate }),
  restart,
);

const jobName = 'batch.kubernetes.io/job-name';
const controllerUid = 'batch.kubernetes.io/controller-uid';
const olderName = 'job-name';
const olderUid = 'controller-uid';

interface Generated {
  readonly selector: ReadValues | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

/** The selector and the labels of pods as an API server makes them for a new Job. A space does not store them. */
function generated(spec: ReadValues, at: Visit): Generated {
  const { selector, manualSelector, template } = spec;
  const labels = recordOf(valueAtPath(template, 'metadata.labels')) as Record<string, string>;
  const given = isPresent(selector) ? recordOf(selector) : undefined;
  if (!at.isNew || manualSelector === true) return { selector: given, labels };
  const { name = '', uid = '' } = at.object.metadata;
  return {
    selector: { ...given, matchLabels: { [controllerUid]: uid, ...recordOf(given?.matchLabels) } },
    labels: { [olderName]: name, [jobName]: name, [olderUid]: uid, [controllerUid]: uid, ...labels },
  };
}

const generatedSelector: FieldCheck = (value, at) => {
  const spec = recordOf(recordOf(value).spec);
  const { selector, labels } = generated(spec, at);
  if (spec.manualSelector === true || !selector) return;
  const { name = '', uid = '' } = at.object.metadata;
  const expected = { [olderUid]: uid, [olderName]: name, [controllerUid]: uid, [jobName]: name };
  for (const [label, wanted] of Object.entries(expected)) {
    const path = `spec.template.metadata.labels[${label}]`;
    if (labels[label] === undefined) at.required(path, `must be '${wanted}'`);
    else if (labels[label] !== wanted) at.invalid(path, labels, `must be '${wanted}'`);
  }
  if (isReadableSelector(selector) && !matchesSelector(selector as LabelSelector, expected)) {
    at.invalid('spec.selector', selector, '`selector` not auto-generated');
  }
};

/** A Job whose selector the API server of a cluster will make has none here, and an update can't take it away. */
const ownSelector: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  const { selector, labels } = generated(spec, at);
  if (!selector) {
    if (spec.manualSelector !== true && !isPresent(recordOf(at.former?.spec).selector)) return;
    at.required('selector');
    at.invalid('template.metadata.labels', labels, unselected);
    return;
  }
  at.into('selector', selector, selectorRule);
  if (isReadableSelector(selector) && !matchesSelector(selector as LabelSelector, labels)) {
    at.invalid('template.metadata.labels', labels, unselected);
  }
};

const hostname: FieldCheck = (value, at) => {
  const { completionMode: mode, completions } = recordOf(recordOf(value).spec);
  if (mode !== 'Indexed' || numberOf(completions) <= 0) return;
  const { name = '' } = at.object.metadata;
  const longest = `${name}-${numberOf(completions) - 1}`;
  if (dnsLabel(longest).length > 0) {
    at.invalid('metadata.name', name, `will not able to create pod with invalid DNS label: ${longest}`);
  }
};

/** Parts of the template that say where pods run may change while the Job is suspended and has not begun. */
const template: FieldCheck = (value, at) => {
  if (!at.old) return;
  const now = recordOf(recordOf(value).spec);
  const before = recordOf(at.old.spec);
  const isWaiting = before.suspend === true && !isPresent(recordOf(at.old.status).startTime);
  const compared = (of: unknown): ReadValues => {
    const { metadata, spec } = recordOf(of);
    if (!isWaiting) return { metadata, spec };
    const { affinity, nodeSelector: _n, tolerations: _t, schedulingGates: _g, ...rest } = recordOf(spec);
    const { nodeAffinity: _a, ...otherAffinity } = recordOf(affinity);
    return { spec: { ...rest, affinity: otherAffinity } };
  };
  if (!isSameValue(compared(now.template), compared(before.template), at.fieldAt('spec.template'))) {
    at.invalid('spec.template', now.template, 'field is immutable');
  }
};

const completions: FieldCheck = (value, at) => {
  if (!at.old) return;
  const now = recordOf(recordOf(value).spec);
  const before = recordOf(at.old.spec);
  if (now.completionMode !== 'Indexed') fixedWith('spec.completions', now.completions, before.completions, at);
  else if (
    isPresent(now.completions) &&
    now.completions !== before.completions &&
    now.completions !== now.parallelism
  ) {
    at.invalid('spec.completions', now.completions, 'can only be modified in tandem with spec.parallelism');
  }
};

export const job: FieldCheck = all(
  (value, at) => {
    if (!at.old) generatedSelector(value, at);
  },
  fields({ spec: all(jobSpec, ownSelector) }),
  (value, at) => {
    if (at.isNew) hostname(value, at);
  },
  completions,
  fixed('spec.selector'),
  template,
  ...['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'].map((name) =>
    fixed(`spec.${name}`),
  ),
);

const schedule: FieldCheck = (value, at) => {
  const { schedule: given, timeZone } = recordOf(value);
  const spec = wordOf(given);
  if (spec === '') {
    at.required('schedule');
    return;
  }
  const mistake = scheduleMistake(spec);
  if (mistake !== undefined) at.invalid('schedule', spec, mistake);
  if (!spec.includes('TZ')) return;
  const wasAllowed = wordOf(recordOf(at.old?.spec).schedule).includes('TZ');
  if (!wasAllowed) at.invalid('schedule', spec, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead');
  else if (isPresent(timeZone)) {
    at.invalid('schedule', spec, 'cannot use both timeZone field and TZ or CRON_TZ in schedule');
  }
};

const timeZone: FieldCheck = ifGiven((value, at) => {
  const zone = wordOf(value);
  if (zone === '') {
    at.invalid('', zone, 'timeZone must be nil or non-empty string');
    return;
  }
  for (const part of zone.split('/')) {
    if (/^\.\.?$|^-/.test(part) || !/^[A-Za-z.\-_0-9+]{1,14}$/.test(part)) {
      at.invalid('', zone, `unknown time zone ${zone}`);
      return;
    }
  }
  if (zone.toLowerCase() === 'local') {
    at.invalid('', zone, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones');
  }
  if (!isTimeZone(zone) && zone !== 'Local') at.invalid('', zone, `unknown time zone ${zone}`);
});

const jobTemplate: FieldCheck = fields({
  spec: all(jobSpec, (value, at) => {
    const { selector, manualSelector } = recordOf(value);
    if (isPresent(selector)) at.invalid('selector', selector, '`selector` will be auto-generated');
    if (manualSelector === true) at.unsupported('manualSelector', true, ['nil', 'false']);
  }),
});

/** The name of a Job has 11 characters more, and has to be a label. */
const nameMax = 52;

export const cronJob: FieldCheck = all(
  fields({
    spec: all(
      schedule,
      fields({ startingDeadlineSeconds: count }),
      (value, at) => {
        const zone = recordOf(value).timeZone;
        if (zone !== recordOf(at.old?.spec).timeZone) at.into('timeZone', zone, timeZone);
      },
      fields({
        concurrencyPolicy: requiredOneOf('Allow', 'Forbid', 'Replace'),
        jobTemplate,
        successfulJobsHistoryLimit: count,
        failedJobsHistoryLimit: count,
      }),
    ),
  }),
  (_value, at) => {
    const { name = '' } = at.object.metadata;
    if (!at.old && name.length > nameMax) at.invalid('metadata.name', name, 'must be no more than 52 characters');
  },
);
