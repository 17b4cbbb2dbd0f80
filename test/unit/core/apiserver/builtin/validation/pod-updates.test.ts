/** The parts of a pod that an update may change, with the words of Kubernetes. */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../../../core/object/meta.ts';
import { ruleCauses } from '../../../../../support/builtin-causes.ts';

const main = { name: 'main', image: 'x:1', resources: {} };
const toleration = { key: 'gpu', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 };

function pod(spec: object, annotations: object = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', annotations },
    spec: { containers: [main], ...spec },
  } as KubeObject;
}

const causes = (now: KubeObject, old: KubeObject) =>
  ruleCauses('Pod', now, old).map(({ field, message }) => `${field}: ${message}`);
const others = expect.stringMatching(/^spec: Forbidden: pod updates may not change fields other than/);
const required = (terms: object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
});
const zone = { key: 'zone', operator: 'In', values: ['a'] };
const disk = { key: 'disk', operator: 'Exists' };
const gated = { schedulingGates: [{ name: 'a' }] };
const terms = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

describe('an update of a pod', () => {
  it.each<[string, object, object, unknown[]]>([
    ['may change an image', {}, { containers: [{ ...main, image: 'x:2' }] }, []],
    ['may shorten the deadline', { activeDeadlineSeconds: 9 }, { activeDeadlineSeconds: 3 }, []],
    ['may add a toleration', {}, { tolerations: [toleration] }, []],
    [
      'may change the seconds of a toleration',
      { tolerations: [toleration] },
      { tolerations: [{ ...toleration, tolerationSeconds: 9 }] },
      [],
    ],
    [
      'may end a grace period below zero',
      { terminationGracePeriodSeconds: -1 },
      { terminationGracePeriodSeconds: 1 },
      [],
    ],
    ['may remove a gate', gated, {}, []],
    [
      'may narrow the nodes of a gated pod',
      gated,
      { ...gated, nodeSelector: { a: 'b' }, ...required([{ matchExpressions: [zone] }]) },
      [],
    ],
    [
      'may narrow the terms of a gated pod',
      { ...gated, ...required([{ matchExpressions: [zone] }]) },
      { ...gated, ...required([{ matchExpressions: [zone, disk] }]) },
      [],
    ],
    ['may not change a command', {}, { containers: [{ ...main, command: ['a'] }] }, [others]],
    [
      'may not add a container',
      {},
      { containers: [main, { ...main, name: 'b' }] },
      ['spec.containers: Forbidden: pod updates may not add or remove containers'],
    ],
    [
      'may not lengthen the deadline, and says nothing else',
      { activeDeadlineSeconds: 3 },
      { activeDeadlineSeconds: 9, nodeName: 'n' },
      ['spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value'],
    ],
    [
      'may not change a toleration',
      { tolerations: [toleration] },
      { tolerations: [{ ...toleration, operator: 'Equal' }] },
      ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
    ],
    [
      'may not add a gate',
      gated,
      { schedulingGates: [{ name: 'a' }, { name: 'b' }] },
      ["spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'"],
    ],
    [
      'may not widen the nodes of a gated pod',
      { ...gated, nodeSelector: { a: 'b' }, ...required([{ matchExpressions: [zone] }]) },
      { ...gated, ...required([{ matchExpressions: [disk] }]) },
      [
        'spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
        `${terms}[0]: Invalid value: {"matchExpressions":[{"key":"disk","operator":"Exists"}]}: only additions are allowed (no mutations or deletions)`,
      ],
    ],
    [
      'may not add a term to those of a gated pod',
      { ...gated, ...required([{ matchExpressions: [zone] }]) },
      { ...gated, ...required([{ matchExpressions: [zone] }, { matchExpressions: [disk] }]) },
      [expect.stringContaining('no additions/deletions to non-empty NodeSelectorTerms list are allowed')],
    ],
    ['may not narrow the nodes of a pod that waits for nothing', {}, { nodeSelector: { a: 'b' } }, [others]],
  ])('%s', (_, before, now, expected) => {
    expect(causes(pod(now), pod(before))).toEqual(expected);
  });

  it('may not change annotations that a kubelet has read', () => {
    const profile = 'container.apparmor.security.beta.kubernetes.io/main';
    expect(causes(pod({}, { [profile]: 'unconfined' }), pod({}))).toEqual([
      `metadata.annotations[${profile}]: Forbidden: may not add AppArmor annotations`,
    ]);
    expect(causes(pod({}), pod({}, { [profile]: 'unconfined', 'kubernetes.io/config.mirror': 'a' }))).toEqual([
      `metadata.annotations[${profile}]: Forbidden: may not remove or update AppArmor annotations`,
      'metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation',
    ]);
  });
});
