/** The rules of a status that a user writes. What a node itself reports is summed up from clusters whose numbers need not fit together, so the node asks nobody. */
import { address } from './addresses.ts';
import { dnsSubdomain } from './formats.ts';
import { nanosOf } from './resources.ts';
import {
  all,
  each,
  type FieldCheck,
  fields,
  ifFilled,
  ifGiven,
  needed,
  notNegative,
  numberOf,
  oneOf,
  recordOf,
  recordsOf,
  textOfForm,
  wordOf,
} from './visit.ts';

/** A field, the field whose value is the largest that it may have, and the name of that field in the message. */
type AtMost = readonly [field: string, limit: string, shown?: string];

const deployment = counted(
  'observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas collisionCount',
  ['updatedReplicas', 'replicas'],
  ['readyReplicas', 'replicas'],
  ['availableReplicas', 'replicas'],
  ['availableReplicas', 'readyReplicas', 'readyReplicas'],
);
const replicaSet = counted(
  'replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration',
  ['fullyLabeledReplicas', 'replicas'],
  ['readyReplicas', 'replicas'],
  ['availableReplicas', 'replicas'],
  ['availableReplicas', 'readyReplicas', 'readyReplicas'],
);
const statefulSet = counted(
  'replicas readyReplicas currentReplicas updatedReplicas availableReplicas observedGeneration collisionCount',
  ['readyReplicas', 'replicas'],
  ['currentReplicas', 'replicas'],
  ['updatedReplicas', 'replicas'],
  ['availableReplicas', 'replicas'],
  ['availableReplicas', 'readyReplicas'],
);
const daemonSet = counted(
  'currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady observedGeneration updatedNumberScheduled numberAvailable numberUnavailable collisionCount',
);

const reasonForm = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const reasonMistake =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

const disruptionBudget = all(
  counted('disruptionsAllowed currentHealthy desiredHealthy expectedPods'),
  fields({
    conditions: each(
      fields({
        status: oneOf('False', 'True', 'Unknown'),
        reason: ifFilled(textOfForm((text) => (reasonForm.test(text) ? [] : [reasonMistake]))),
      }),
    ),
  }),
);

const ingressPoints = fields({
  loadBalancer: fields({
    ingress: each(
      fields({
        ip: ifFilled(textOfForm(address)),
        hostname: ifFilled((value, at) => {
          const isAddress = address(wordOf(value)).length === 0;
          if (isAddress) at.invalid('', value, 'must be a DNS name, not an IP address');
          else textOfForm(dnsSubdomain)(value, at);
        }),
      }),
    ),
  }),
});

const service: FieldCheck = (value, at) => {
  const { type } = recordOf(at.object.spec);
  const points = recordOf(recordOf(value).loadBalancer).ingress;
  if (type === 'LoadBalancer') ingressPoints(value, at);
  else if (recordsOf(points).length > 0) {
    at.forbidden('loadBalancer.ingress', "may only be used when `spec.type` is 'LoadBalancer'");
  }
};

const pod = fields({
  nominatedNodeName: ifFilled(textOfForm(dnsSubdomain)),
  podIPs: each((value, at) => textOfForm(address)(recordOf(value).ip, at)),
});

const namespaceKind: FieldCheck = (value, at) => {
  const { phase = 'Active' } = recordOf(value);
  const isTerminating = at.object.metadata.deletionTimestamp !== undefined;
  if (!isTerminating && phase !== 'Active') {
    at.invalid('Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty");
  }
  if (isTerminating && phase !== 'Terminating') {
    at.invalid('Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
  }
};

const claim = fields({
  capacity: (value, at) => {
    for (const [name, amount] of Object.entries(recordOf(value))) {
      if (nanosOf(amount) < 0n) at.invalid(`[${name}]`, amount, 'must be a valid resource quantity');
    }
  },
});

const job: FieldCheck = all(
  counted('active succeeded failed'),
  fields({ ready: ifGiven(notNegative), terminating: ifGiven(notNegative) }),
  (value, at) => {
    const { active, ready, completionTime, conditions } = recordOf(value);
    const has = (type: string) => recordsOf(conditions).some((one) => one.type === type && one.status === 'True');
    if (numberOf(ready) > numberOf(active)) at.invalid('ready', ready, 'cannot set more ready pods than active');
    if (has('Complete') && has('Failed'))
      at.invalidAs('conditions', 'cannot set Complete=True and Failed=true conditions');
    if (completionTime && !has('Complete')) {
      at.invalid(
        'completionTime',
        completionTime,
        'cannot set completionTime when there is no Complete=True condition',
      );
    }
    if (!completionTime && has('Complete'))
      at.required('completionTime', 'completionTime is required for Complete jobs');
  },
);

const differentTypes: FieldCheck = fields({
  conditions: (value, at) => {
    const seen = new Set<unknown>();
    for (const [i, { type }] of recordsOf(value).entries()) {
      if (!type) at.required(`[${i}].type`);
      else if (seen.has(type)) at.duplicate(`[${i}].type`, type);
      seen.add(type);
    }
  },
});

const admissionPolicy = fields({
  typeChecking: fields({ expressionWarnings: each(fields({ fieldRef: needed(''), warning: needed('') })) }),
});

export const userStatusRules: Readonly<Record<string, FieldCheck>> = {
  DaemonSet: daemonSet,
  Deployment: deployment,
  FlowSchema: differentTypes,
  HorizontalPodAutoscaler: counted('currentReplicas desiredReplicas'),
  Ingress: ingressPoints,
  Job: job,
  Namespace: namespaceKind,
  PersistentVolumeClaim: claim,
  Pod: pod,
  PodDisruptionBudget: disruptionBudget,
  PriorityLevelConfiguration: differentTypes,
  ReplicaSet: replicaSet,
  ReplicationController: replicaSet,
  Service: service,
  StatefulSet: statefulSet,
  ValidatingAdmissionPolicy: admissionPolicy,
};

/** Numbers that are not negative, in the order of the causes, and numbers that are not larger than others. */
function counted(names: string, ...atMost: readonly AtMost[]): FieldCheck {
  const least = fields(Object.fromEntries(names.split(' ').map((name) => [name, notNegative])));
  return (value, at) => {
    least(value, at);
    const status = recordOf(value);
    for (const [field, limit, shown = `status.${limit}`] of atMost) {
      const [number, max] = [numberOf(status[field]), numberOf(status[limit])];
      if (number > max) at.invalid(field, number, `cannot be greater than ${shown}`);
    }
  };
}
