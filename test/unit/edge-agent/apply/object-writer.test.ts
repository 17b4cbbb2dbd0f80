import { describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { isAboutImmutable } from '../../../../edge-agent/apply/object-writer.ts';

const of = (message: string) => isAboutImmutable(new BanyanError('Invalid', message));

/** Messages of Kubernetes 1.34. */
const immutable: readonly string[] = [
  'Deployment.apps "till" is invalid: spec.selector: Invalid value: v1.LabelSelector{}: field is immutable',
  'ConfigMap "till" is invalid: data: Forbidden: field is immutable when `immutable` is set',
  "StatefulSet.apps \"till\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  'StorageClass.storage.k8s.io "fast" is invalid: parameters: Forbidden: updates to parameters are forbidden.',
  'PriorityClass.scheduling.k8s.io "high" is invalid: value: Forbidden: may not be changed in an update.',
  'Pod "till" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n  core.PodSpec{',
  'Pod "till" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers',
  'Pod "till" is invalid: spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
  'RoleBinding.rbac.authorization.k8s.io "tills" is invalid: roleRef: Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.k8s.io", Kind:"Role", Name:"b"}: cannot change roleRef',
  'ClusterRoleBinding.rbac.authorization.k8s.io "tills" is invalid: roleRef: Invalid value: rbac.RoleRef{APIGroup:"rbac.authorization.k8s.io", Kind:"ClusterRole", Name:"b"}: cannot change roleRef',
  'Service "till" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.9"]: may not change once set',
  'Service "till" is invalid: spec.clusterIPs[0]: Invalid value: []: primary clusterIP can not be unset',
  'Service "till" is invalid: spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
  'Service "till" is invalid: spec.loadBalancerClass: Invalid value: "b.example/lb": may not change once set',
];

const others: readonly string[] = [
  'Service "till" is invalid: spec.externalName: Forbidden: may not be set for ExternalName services',
  'Service "till" is invalid: spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for LoadBalancer services',
  'Service "till" is invalid: spec.loadBalancerClass: Forbidden: may only be used when `type` is \'LoadBalancer\'',
  'Service "till" is invalid: spec.ports: Required value',
  'Deployment.apps "till" is invalid: spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is \'Recreate\'',
  'Deployment.apps "till" is invalid: spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
  'Pod "till" is invalid: spec.volumes[0].hostPath: Forbidden: may not be used',
  'Pod "till" is invalid: spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
  'RoleBinding.rbac.authorization.k8s.io "tills" is invalid: roleRef.name: Required value',
  'Node "one" is invalid: spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
];

describe('a refusal', () => {
  it.each(immutable)('is about an immutable field: %s', (message) => {
    expect(of(message)).toBe(true);
  });

  it.each(others)('is about another value: %s', (message) => {
    expect(of(message)).toBe(false);
  });

  it('is about more than an immutable field if one of its causes is', () => {
    const selector = 'Invalid value: {"matchLabels":{"app":"b"}}: field is immutable';
    const labels = 'Invalid value: {"app":"a"}: `selector` does not match template `labels`';
    const causedBy = (...messages: string[]) => {
      const causes = messages.map((message) => ({ reason: 'FieldValueInvalid', message, field: 'spec' }));
      return new BanyanError('Invalid', `Deployment.apps "till" is invalid: [${messages.join(', ')}]`, { causes });
    };
    expect(isAboutImmutable(causedBy(selector))).toBe(true);
    expect(isAboutImmutable(causedBy(selector, labels))).toBe(false);
  });

  it('does not mention immutable fields if it is not about the sent object', () => {
    expect(isAboutImmutable(new BanyanError('Conflict', 'field is immutable'))).toBe(false);
    expect(isAboutImmutable(new Error('field is immutable'))).toBe(false);
  });
});
