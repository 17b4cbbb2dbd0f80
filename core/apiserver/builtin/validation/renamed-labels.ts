/** Labels of Nodes that have another name now. */
import { ownField } from '../../../object/json-value.ts';
import { type ReadValues, recordOf, recordsOf, wordOf } from './visit.ts';

/** Keyed by the older name. `since`: the version of Kubernetes that has deprecated it. */
export const renamedLabels: Readonly<Record<string, { readonly since: string; readonly newer: string }>> = {
  'beta.kubernetes.io/arch': { since: 'v1.14', newer: 'kubernetes.io/arch' },
  'beta.kubernetes.io/os': { since: 'v1.14', newer: 'kubernetes.io/os' },
  'failure-domain.beta.kubernetes.io/region': { since: 'v1.17', newer: 'topology.kubernetes.io/region' },
  'failure-domain.beta.kubernetes.io/zone': { since: 'v1.17', newer: 'topology.kubernetes.io/zone' },
  'beta.kubernetes.io/instance-type': { since: 'v1.17', newer: 'node.kubernetes.io/instance-type' },
};

/** The affinity before an update, with the newer names that the update uses. As in Kubernetes, a label without a newer name may lose its name. */
export function withNewerLabels(before: unknown, now: unknown): ReadValues {
  const termsOf = (affinity: unknown) => recordsOf(recordOf(recordOf(affinity).required).nodeSelectorTerms);
  const terms = termsOf(now);
  const renamed = termsOf(before).map((term, i) => {
    const inList = (list: string) => {
      const requirements = recordsOf(terms[i]?.[list]);
      return recordsOf(term[list]).map((requirement, j) => {
        const key = wordOf(requirements[j]?.key);
        const newer = ownField(renamedLabels, wordOf(requirement.key))?.newer ?? '';
        return requirements[j] && key === newer ? { ...requirement, key } : requirement;
      });
    };
    return { ...term, matchExpressions: inList('matchExpressions'), matchFields: inList('matchFields') };
  });
  const required = recordOf(recordOf(before).required);
  return { ...recordOf(before), required: { ...required, nodeSelectorTerms: renamed } };
}
