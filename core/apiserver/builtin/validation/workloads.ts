/** Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, and the templates of pods. */
import { type LabelSelector, matchesSelector } from '../../../object/selector.ts';
import { claimSpec } from './claims.ts';
import { dnsLabel, percent } from './formats.ts';
import { labelsOfTemplate, onlyRestarted, podTemplate } from './pods.ts';
import { isEmptySelector, isReadableSelector, selectorRule } from './selectors.ts';
import { fixed, isSameValue } from './updates.ts';
import {
  all,
  each,
  type FieldCheck,
  fields,
  ifFilled,
  ifGiven,
  isPresent,
  notNegative,
  numberOf,
  oneOf,
  type ReadValues,
  recordOf,
  recordsOf,
  textOfForm,
  type Visit,
  valueAtPath,
} from './visit.ts';

export const intOrPercent: FieldCheck = (value, at) => {
  if (typeof value === 'string') {
    for (const mistake of percent(value)) at.invalid('', value, mistake);
  } else notNegative(value, at);
};

export const notMoreThanAll: FieldCheck = (value, at) => {
  if (typeof value === 'string' && percent(value).length === 0 && Number.parseInt(value, 10) > 100) {
    at.invalid('', value, 'must not be greater than 100%');
  }
};

function countOf(value: unknown): number {
  if (typeof value !== 'string') return numberOf(value);
  const number = Number(percent(value).length === 0 ? value.slice(0, -1) : value);
  return Number.isInteger(number) ? number : 0;
}

/** True if the labels of the template are those that the selector selects. An invalid selector is reported elsewhere. */
function isSelected(selector: unknown, template: unknown): boolean {
  const labels = recordOf(valueAtPath(template, 'metadata.labels')) as Record<string, string>;
  return matchesSelector(recordOf(selector) as LabelSelector, labels);
}

export const unselected = '`selector` does not match template `labels`';

function selected(empty: string): FieldCheck {
  return (value, at) => {
    const { selector } = recordOf(value);
    if (!isPresent(selector)) at.required('selector');
    else {
      at.into('selector', selector, selectorRule);
      if (isEmptySelector(selector)) at.invalid('selector', selector, empty);
    }
  };
}

/** The template, whose labels the selector has to select. `check` runs only if the selector can be read. */
function selectedTemplate(check: FieldCheck, unreadable: string): FieldCheck {
  return (value, at) => {
    const { selector, template } = recordOf(value);
    if (isPresent(selector) && !isReadableSelector(selector)) {
      at.invalid('selector', selector, unreadable);
      return;
    }
    const selects = isPresent(selector) ? !isEmptySelector(selector) : true;
    if (selects && !(isPresent(selector) && isSelected(selector, template))) {
      at.invalid('template.metadata.labels', valueAtPath(template, 'metadata.labels') ?? null, unselected);
    }
    at.into('template', template, check);
  };
}

const replicaSetTemplate = all(podTemplate, onlyRestarted('ReplicaSet'));

const rollingUpdate: FieldCheck = all(
  fields({ maxUnavailable: intOrPercent, maxSurge: intOrPercent }),
  (value, at) => {
    const { maxUnavailable, maxSurge } = recordOf(value);
    if (countOf(maxUnavailable) === 0 && countOf(maxSurge) === 0) {
      at.invalid('maxUnavailable', maxUnavailable, 'may not be 0 when `maxSurge` is 0');
    }
  },
  fields({ maxUnavailable: notMoreThanAll }),
);

const strategy: FieldCheck = (value, at) => {
  const { type, rollingUpdate: parameters } = recordOf(value);
  if (type === 'RollingUpdate') at.into('rollingUpdate', parameters, rollingUpdate);
  else if (type === 'Recreate') {
    if (isPresent(parameters)) {
      at.forbidden('rollingUpdate', "may not be specified when strategy `type` is 'Recreate'");
    }
  } else at.unsupported('', value, ['Recreate', 'RollingUpdate']);
};

export const deployment: FieldCheck = all(
  fields({
    spec: all(
      fields({ replicas: notNegative }),
      selected('empty selector is invalid for deployment'),
      selectedTemplate(replicaSetTemplate, 'invalid label selector'),
      fields({
        strategy,
        minReadySeconds: notNegative,
        revisionHistoryLimit: ifGiven(notNegative),
        progressDeadlineSeconds: ifGiven(notNegative),
      }),
      (value, at) => {
        const { progressDeadlineSeconds: deadline, minReadySeconds } = recordOf(value);
        if (isPresent(deadline) && numberOf(deadline) <= numberOf(minReadySeconds)) {
          at.invalid('progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds');
        }
      },
    ),
  }),
  fixed('spec.selector'),
);

export const replicaSet: FieldCheck = all(
  fields({
    spec: all(
      fields({ replicas: notNegative, minReadySeconds: notNegative }),
      selected('empty selector is invalid for deployment'),
      selectedTemplate(replicaSetTemplate, 'invalid label selector'),
    ),
  }),
  fixed('spec.selector'),
);

const partitioned: FieldCheck = fields({ partition: notNegative });

const statefulStrategy: FieldCheck = (value, at) => {
  const { type, rollingUpdate: parameters } = recordOf(value);
  if (!type) at.required();
  else if (type === 'RollingUpdate') at.into('rollingUpdate', parameters, ifGiven(partitioned));
  else if (type === 'OnDelete') {
    if (isPresent(parameters)) {
      at.invalid('rollingUpdate', parameters, "only allowed for updateStrategy 'RollingUpdate'");
    }
  } else at.invalid('', value, "must be 'RollingUpdate' or 'OnDelete'");
};

const retention: FieldCheck = ifGiven(
  fields({ whenDeleted: oneOf('Retain', 'Delete'), whenScaled: oneOf('Retain', 'Delete') }),
);

/** The template with the volumes of the claims that the set makes for each pod. */
function withClaims(spec: ReadValues): ReadValues {
  const claims = [...new Set(recordsOf(spec.volumeClaimTemplates).map(({ metadata }) => recordOf(metadata).name))];
  const template = recordOf(spec.template);
  const { subdomain: _s, hostname: _h, ...pod } = recordOf(template.spec);
  const volumes = [
    ...claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...recordsOf(pod.volumes).filter(({ name }) => !claims.includes(name)),
  ];
  return { ...spec, template: { ...template, spec: { ...pod, ...(volumes.length > 0 ? { volumes } : {}) } } };
}

/** Kubernetes checks the labels of this template twice. */
const statefulTemplate = selectedTemplate(all(podTemplate, labelsOfTemplate), '');

const statefulSpec: FieldCheck = all(
  fields({
    podManagementPolicy: (value, at) => {
      if (!value) at.required();
      else if (value !== 'OrderedReady' && value !== 'Parallel') {
        at.invalid('', value, "must be 'OrderedReady' or 'Parallel'");
      }
    },
    updateStrategy: statefulStrategy,
    persistentVolumeClaimRetentionPolicy: retention,
  }),
  (value, at) => {
    if (at.old) return;
    fields({ volumeClaimTemplates: each(fields({ spec: claimSpec })) })(value, at);
  },
  fields({
    replicas: notNegative,
    minReadySeconds: notNegative,
    ordinals: ifGiven((value, at) => {
      const start = numberOf(recordOf(value).start);
      if (start < 0) at.invalid('start', start, 'must be greater than or equal to 0');
    }),
  }),
  (value, at) => {
    if (!at.old) fields({ serviceName: ifFilled(textOfForm(dnsLabel)) })(value, at);
  },
  selected('empty selector is invalid for statefulset'),
  (value, at) => statefulTemplate(withClaims(recordOf(value)), at),
  fields({ template: onlyRestarted('StatefulSet') }),
);

const changeable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];

/** Kubernetes keeps the kind of no template. */
function withoutKinds(templates: unknown): unknown[] {
  return recordsOf(templates).map(({ apiVersion: _a, kind: _k, ...template }) => template);
}

export const statefulSet: FieldCheck = all(fields({ spec: statefulSpec }), (value, at) => {
  if (!at.old) return;
  const fixedPart = (spec: unknown) =>
    Object.fromEntries(
      Object.entries(recordOf(spec))
        .filter(([name]) => !changeable.includes(name))
        .map(([name, field]) => [name, name === 'volumeClaimTemplates' ? withoutKinds(field) : field]),
    );
  if (isSameValue(fixedPart(recordOf(value).spec), fixedPart(at.old.spec), at.fieldAt('spec'))) return;
  const last = changeable.at(-1);
  const names = `${changeable
    .slice(0, -1)
    .map((name) => `'${name}'`)
    .join(', ')} and '${last}'`;
  at.forbidden('spec', `updates to statefulset spec for fields other than ${names} are forbidden`);
});

const daemonRollingUpdate: FieldCheck = all(
  fields({ maxUnavailable: intOrPercent, maxSurge: intOrPercent }),
  fields({ maxUnavailable: notMoreThanAll, maxSurge: notMoreThanAll }),
  (value, at) => {
    const { maxUnavailable, maxSurge } = recordOf(value);
    const isUnavailable = countOf(maxUnavailable) !== 0;
    const isSurging = countOf(maxSurge) !== 0;
    if (isUnavailable && isSurging) {
      at.invalid('maxSurge', maxSurge, 'may not be set when maxUnavailable is non-zero');
    }
    if (!isUnavailable && !isSurging) at.required('maxUnavailable', 'cannot be 0 when maxSurge is 0');
  },
);

const daemonStrategy: FieldCheck = (value, at) => {
  const { type, rollingUpdate: parameters } = recordOf(value);
  if (type === 'RollingUpdate') at.into('rollingUpdate', parameters, daemonRollingUpdate);
  else if (type !== 'OnDelete') at.unsupported('', value, ['RollingUpdate', 'OnDelete']);
};

export const daemonSet: FieldCheck = all(
  fixed('spec.selector'),
  fields({
    spec: all(
      fields({ selector: selectorRule }),
      (value, at) => {
        const { selector, template } = recordOf(value);
        // Without a selector, the set selects nothing.
        const selects =
          isPresent(selector) && isReadableSelector(selector) ? isSelected(selector, template) : isPresent(selector);
        if (!selects)
          at.invalid('template.metadata.labels', valueAtPath(template, 'metadata.labels') ?? null, unselected);
        if (isPresent(selector) && isEmptySelector(selector)) {
          at.invalid('selector', selector, 'empty selector is invalid for daemonset');
        }
      },
      fields({
        template: all(podTemplate, onlyRestarted('DaemonSet')),
        minReadySeconds: notNegative,
        updateStrategy: daemonStrategy,
        revisionHistoryLimit: ifGiven(notNegative),
      }),
    ),
  }),
);

export const replicationController: FieldCheck = fields({
  spec: all(
    fields({ minReadySeconds: notNegative }),
    (value, at) => {
      if (Object.keys(recordOf(recordOf(value).selector)).length === 0) at.required('selector');
    },
    fields({ replicas: notNegative }),
    controllerTemplate,
  ),
});

function controllerTemplate(value: unknown, at: Visit): void {
  const { selector, template } = recordOf(value);
  if (!isPresent(template)) {
    at.required('template');
    return;
  }
  const wanted = { matchLabels: recordOf(selector) as Record<string, string> };
  if (!isEmptySelector(wanted) && !isSelected(wanted, template)) {
    at.invalid('template.metadata.labels', valueAtPath(template, 'metadata.labels') ?? null, unselected);
  }
  at.into('template', template, all(podTemplate, onlyRestarted('ReplicationController')));
}

export const podTemplateKind: FieldCheck = fields({ template: podTemplate });

export const controllerRevision: FieldCheck = all(
  fields({ revision: notNegative }),
  (value, at) => {
    const { data } = recordOf(value);
    if (at.old) return;
    if (!isPresent(data)) at.required('data', 'data is mandatory');
    else if (typeof data !== 'object' || Array.isArray(data)) at.required('data', 'data must be a valid JSON object');
  },
  fixed('data'),
);
