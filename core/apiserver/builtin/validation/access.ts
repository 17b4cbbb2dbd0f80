/** Roles and their bindings. */
import { dnsSubdomain, pathSegment } from './formats.ts';
import { isReadableSelector, selectorRule } from './selectors.ts';
import { fixed } from './updates.ts';
import {
  all,
  each,
  type FieldCheck,
  fields,
  ifGiven,
  listOf,
  needed,
  oneOf,
  recordOf,
  requiredThen,
  textOfForm,
  wordOf,
} from './visit.ts';

const group = 'rbac.authorization.k8s.io';

function policyRule(isNamespaced: boolean): FieldCheck {
  return (value, at) => {
    const { verbs, nonResourceURLs: urls, apiGroups, resources, resourceNames } = recordOf(value);
    if (listOf(verbs).length === 0) at.required('verbs', 'verbs must contain at least one value');
    if (listOf(urls).length > 0) {
      if (isNamespaced) at.invalid('nonResourceURLs', urls, 'namespaced rules cannot apply to non-resource URLs');
      if ([apiGroups, resources, resourceNames].some((list) => listOf(list).length > 0)) {
        const why = 'rules cannot apply to both regular resources and non-resource URLs';
        at.invalid('nonResourceURLs', urls, why);
      }
      return;
    }
    if (listOf(apiGroups).length === 0) {
      at.required('apiGroups', 'resource rules must supply at least one api group');
    }
    if (listOf(resources).length === 0) {
      at.required('resources', 'resource rules must supply at least one resource');
    }
  };
}

const needsSelector = 'at least one clusterRoleSelector required if aggregationRule is non-nil';

/** Kubernetes adds a second cause, without the selector. */
const roleSelector: FieldCheck = (value, at) => {
  selectorRule(value, at);
  if (!isReadableSelector(value)) at.invalid('', null, 'invalid label selector.');
};

export const role: FieldCheck = fields({ rules: each(policyRule(true)) });
export const clusterRole: FieldCheck = fields({
  rules: each(policyRule(false)),
  aggregationRule: ifGiven(fields({ clusterRoleSelectors: [needed(needsSelector), each(roleSelector)] })),
});

function subject(isNamespaced: boolean): FieldCheck {
  return (value, at) => {
    const { kind, name, apiGroup, namespace } = recordOf(value);
    if (!name) at.required('name');
    if (kind === 'ServiceAccount') {
      if (name) at.into('name', name, textOfForm(dnsSubdomain));
      if (apiGroup) at.unsupported('apiGroup', apiGroup, ['']);
      if (!isNamespaced && !namespace) at.required('namespace');
    } else if (kind === 'User' || kind === 'Group') at.into('apiGroup', apiGroup, oneOf(group));
    else at.unsupported('kind', wordOf(kind), ['ServiceAccount', 'User', 'Group']);
  };
}

function binding(isNamespaced: boolean): FieldCheck {
  return all(
    fields({
      roleRef: fields({
        apiGroup: oneOf(group),
        kind: isNamespaced ? oneOf('Role', 'ClusterRole') : oneOf('ClusterRole'),
        name: requiredThen(textOfForm(pathSegment)),
      }),
      subjects: each(subject(isNamespaced)),
    }),
    fixed('roleRef', (at, value) => {
      const { apiGroup: APIGroup, kind: Kind, name: Name } = recordOf(value);
      at.invalid('roleRef', { APIGroup, Kind, Name }, 'cannot change roleRef');
    }),
  );
}

export const roleBinding: FieldCheck = binding(true);
export const clusterRoleBinding: FieldCheck = binding(false);
