/** The rules of a status that a user writes. What a node itself reports is summed up from clusters whose numbers need not fit together, so the node asks nobody. */
import { address, addressBytes, familyOf } from './addresses.ts';
import { dnsSubdomain, qualifiedName } from './formats.ts';
import { jobStatus } from './job-status.ts';
import { nanosOf } from './resources.ts';
import {
  all,
  each,
  type FieldCheck,
  fields,
  ifFilled,
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

const systemConditions: ReadonlySet<unknown> = new Set(['PodScheduled', 'Ready', 'Initialized']);

const podConditions: FieldCheck = each((condition, at) => {
  const { type, observedGeneration } = recordOf(condition);
  if (numberOf(observedGeneration) < 0)
    at.invalid('observedGeneration', observedGeneration, 'must be a non-negative integer');
  // As in Kubernetes, the name of the field begins with a capital.
  if (!systemConditions.has(type)) at.into('Type', type, textOfForm(qualifiedName));
});

/** Addresses of a Pod or its node: at most one of each family. */
const addressOfEachFamily: FieldCheck = (value, at) => {
  const addresses = recordsOf(value).map(({ ip }) => wordOf(ip));
  each((item) => textOfForm(address)(recordOf(item).ip, at))(value, at);
  if (addresses.length < 2) return;
  const families = addresses.map((one) => familyOf(addressBytes(one)));
  const wrong = families.indexOf(undefined);
  if (wrong >= 0)
    at.internal('', `failed to check for dual stack with error:invalid IP[${wrong}]: ${addresses[wrong]}`);
  if (wrong >= 0 || addresses.length > 2 || new Set(families).size < 2) {
    at.invalid('', value, 'may specify no more than one IP for each IP family');
  }
};

const pod: FieldCheck = (value, at) => {
  const { nominatedNodeName, observedGeneration, hostIP, hostIPs } = recordOf(value);
  const [firstHost] = recordsOf(hostIPs);
  fields({ conditions: podConditions })(value, at);
  if (nominatedNodeName !== recordOf(at.old?.status).nominatedNodeName) {
    at.into('nominatedNodeName', nominatedNodeName, ifFilled(textOfForm(dnsSubdomain)));
  }
  if (numberOf(observedGeneration) < 0)
    at.invalid('observedGeneration', observedGeneration, 'must be a non-negative integer');
  fields({ podIPs: addressOfEachFamily })(value, at);
  if (firstHost && wordOf(firstHost.ip) !== wordOf(hostIP)) {
    at.invalid('hostIPs[0].ip', firstHost.ip, 'must be equal to `hostIP`');
  }
  fields({ hostIPs: addressOfEachFamily })(value, at);
};

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
  Job: jobStatus,
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
