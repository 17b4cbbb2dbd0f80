/** Webhooks and policies that admit requests. `policy-expressions.ts` checks the expressions of policies. */

import { servicePort } from './cluster.ts';
import { dns1035Label, dnsSubdomain, fullyQualifiedName, pathSegment, qualifiedName } from './formats.ts';
import { type Expressions, matchExpressions, policyExpressions } from './policy-expressions.ts';
import { selectorRule } from './selectors.ts';
import {
  all,
  between,
  each,
  type FieldCheck,
  fields,
  filled,
  givenThen,
  ifGiven,
  isPresent,
  listOf,
  needed,
  oneOf,
  recordOf,
  recordsOf,
  requiredThen,
  textOfForm,
  textsOf,
  type Visit,
  wordOf,
} from './visit.ts';

function alone(value: unknown, field: string, others: string, at: Visit): void {
  const given = textsOf(value);
  if (given.length > 1 && given.includes('*')) {
    at.invalid(field, given, `if '*' is present, must not specify other ${others}`);
  }
}

const resources: FieldCheck = (value, at) => {
  const given = textsOf(value);
  if (given.length === 0) at.required();
  const wildcards = new Set<string>();
  const parts = new Set<string>();
  let hasPlain = false;
  for (const [i, name] of given.entries()) {
    if (name === '') at.required(`[${i}]`);
    const cut = name.indexOf('/');
    if (cut < 0) {
      hasPlain = name !== '*';
      continue;
    }
    const resource = name.slice(0, cut);
    const part = name.slice(cut + 1);
    if (wildcards.has(resource)) {
      at.invalid(`[${i}]`, name, `if '${resource}/*' is present, must not specify ${name}`);
    }
    if (parts.has(part)) at.invalid(`[${i}]`, name, `if '*/${part}' is present, must not specify ${name}`);
    if (part === '*') wildcards.add(resource);
    if (resource === '*') parts.add(part);
  }
  if (given.length > 1 && given.includes('*/*')) {
    at.invalid('', given, "if '*/*' is present, must not specify other resources");
  }
  if (given.includes('*') && hasPlain) {
    at.invalid('', given, "if '*' is present, must not specify other resources without subresources");
  }
};

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];

const rule: FieldCheck = (value, at) => {
  const { operations: ops, apiGroups, apiVersions, resources: names, scope } = recordOf(value);
  at.into('operations', ops, filled);
  alone(ops, 'operations', 'operations', at);
  at.into('operations', ops, each(oneOf(...operations)));
  at.into('apiGroups', apiGroups, filled);
  alone(apiGroups, 'apiGroups', 'API groups', at);
  at.into('apiVersions', apiVersions, filled);
  alone(apiVersions, 'apiVersions', 'API versions', at);
  at.into('apiVersions', apiVersions, each(filled));
  at.into('resources', names, resources);
  at.into('scope', scope, ifGiven(oneOf('*', 'Cluster', 'Namespaced')));
};

const failurePolicy: FieldCheck = oneOf('Fail', 'Ignore');
const matchPolicy: FieldCheck = oneOf('Equivalent', 'Exact');

const reviewVersions: FieldCheck = (value, at) => {
  const given = textsOf(value);
  const accepted = ['v1', 'v1beta1'];
  if (given.length === 0) {
    at.required('', `must specify one of ${accepted.join(', ')}`);
    return;
  }
  for (const [i, version] of given.entries()) {
    if (given.indexOf(version) < i) at.invalid(`[${i}]`, version, 'duplicate version');
    else at.into(i, version, textOfForm(dns1035Label));
  }
  if (!given.some((version) => accepted.includes(version))) {
    at.invalid('', given, `must include at least one of ${accepted.join(', ')}`);
  }
};

const form = '; desired format: https://host[/path]';

const url: FieldCheck = (value, at) => {
  const given = wordOf(value);
  const parsed = URL.canParse(given) ? new URL(given) : undefined;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(given)?.[1]?.toLowerCase() ?? '';
  if (scheme !== 'https') at.invalid('', scheme, `'https' is the only allowed URL scheme${form}`);
  if (!parsed?.host) at.invalid('', '', `host must be specified${form}`);
  if (!parsed) return;
  if (parsed.username) at.invalid('', parsed.username, 'user information is not permitted in the URL');
  if (parsed.hash) at.invalid('', parsed.hash.slice(1), 'fragments are not permitted in the URL');
  if (parsed.search) at.invalid('', parsed.search.slice(1), 'query parameters are not permitted in the URL');
};

const servicePath: FieldCheck = (value, at) => {
  const path = wordOf(value);
  if (path === '' || path === '/') return;
  if (path === '//') {
    at.invalid('', path, 'segment[0] may not be empty');
    return;
  }
  if (!path.startsWith('/')) at.invalid('', path, "must start with a '/'");
  for (const [i, step] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (step === '') at.invalid('', path, `segment[${i}] may not be empty`);
    else for (const mistake of dnsSubdomain(step)) at.invalid('', path, `segment[${i}]: ${mistake}`);
  }
};

/** As in Kubernetes, the name of a Service without a namespace is called missing, and the other way round. */
const swapped: FieldCheck = (value, at) => {
  const { name, namespace } = recordOf(value);
  if (!namespace) at.required('name');
  if (!name) at.required('namespace');
};

const client: FieldCheck = (value, at) => {
  const { url: address, service } = recordOf(value);
  if (isPresent(address) === isPresent(service)) at.required('', 'exactly one of url or service is required');
  else if (isPresent(address)) at.into('url', address, url);
  else at.into('service', service, all(swapped, servicePort, fields({ path: ifGiven(servicePath) })));
};

const sideEffects = ['None', 'NoneOnDryRun'];

const webhook: FieldCheck = (value, at) => {
  const hook = recordOf(value);
  fields({
    name: requiredThen(textOfForm(fullyQualifiedName)),
    rules: each(rule),
    failurePolicy: ifGiven(failurePolicy),
    matchPolicy: ifGiven(matchPolicy),
  })(hook, at);
  if (isPresent(hook.sideEffects)) at.into('sideEffects', hook.sideEffects, oneOf(...sideEffects));
  else at.required('sideEffects', `must specify one of ${sideEffects.join(', ')}`);
  fields({
    timeoutSeconds: ifGiven(between(1, 30, 'the timeout value must be between 1 and 30 seconds')),
    namespaceSelector: selectorRule,
    objectSelector: selectorRule,
    reinvocationPolicy: ifGiven(oneOf('IfNeeded', 'Never')),
    clientConfig: client,
  })(hook, at);
  at.into('matchConditions', hook.matchConditions, matchConditions(matchExpressions(false)));
  at.into('admissionReviewVersions', hook.admissionReviewVersions, reviewVersions);
};

export const webhookConfiguration: FieldCheck = fields({
  webhooks: (value, at) => {
    const names = new Set<unknown>();
    each((hook, here) => {
      const { name } = recordOf(hook);
      webhook(hook, here);
      if (name && names.has(name)) here.duplicate('name', name);
      names.add(name);
    })(value, at);
  },
});

function matchConditions(expression: FieldCheck): FieldCheck {
  return (value, at) => {
    const names = new Set<unknown>();
    if (listOf(value).length > 64) at.tooMany('', listOf(value).length, 64);
    each((item, here) => {
      const { name, expression: given } = recordOf(item);
      here.into('expression', wordOf(given).trim(), requiredThen(expression));
      here.into('name', name, requiredThen(textOfForm(qualifiedName)));
      if (name && names.has(name)) here.duplicate('name', name);
      names.add(name);
    })(value, at);
  };
}

const namedRule: FieldCheck = (value, at) => {
  const names = textsOf(recordOf(value).resourceNames);
  for (const [i, name] of names.entries()) {
    for (const mistake of pathSegment(name)) at.invalid(`resourceNames[${i}]`, name, mistake);
    if (names.indexOf(name) < i) at.duplicate(`resourceNames[${i}]`, name);
  }
  rule(value, at);
};

const matchResources: FieldCheck = fields({
  matchPolicy: givenThen(matchPolicy),
  namespaceSelector: selectorRule,
  objectSelector: selectorRule,
  resourceRules: each(namedRule),
  excludeResourceRules: each(namedRule),
});

const paramKind: FieldCheck = (value, at) => {
  const { apiVersion: given, kind } = recordOf(value);
  const parts = wordOf(given).split('/');
  const version = parts.at(-1)!;
  if (!given) at.required('apiVersion');
  else if (parts.length > 2) at.invalid('apiVersion', given, `unexpected GroupVersion string: ${given}`);
  else {
    const group = parts.length === 2 ? parts[0]! : '';
    const mistakes = group === '' ? [] : dnsSubdomain(group);
    if (mistakes.length > 0) at.invalid('apiVersion', group, mistakes.join(','));
    if (version === '') at.invalid('apiVersion', given, 'version must be specified');
    else if (dns1035Label(version).length > 0) at.invalid('apiVersion', version, dns1035Label(version).join(','));
  }
  const mistakes = dns1035Label(wordOf(kind).toLowerCase());
  if (!kind) at.required('kind');
  else if (mistakes.length > 0) {
    at.invalid('kind', kind, `may have mixed case, but should otherwise match: ${mistakes.join(',')}`);
  }
};

const identifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function variable(expressions: Expressions): FieldCheck {
  return (value, at) => {
    const { name: given, expression } = recordOf(value);
    const name = wordOf(given);
    if (name.trim() === '') at.required('name', 'name is not specified');
    else if (!identifier.test(name) || reserved.has(name)) at.invalid('name', name, 'must be a valid CEL identifier');
    if (wordOf(expression).trim() === '') at.required('expression', 'expression is not specified');
    else at.into('expression', expression, expressions.variable);
  };
}

function validation(expressions: Expressions): FieldCheck {
  return (value, at) => {
    const { expression, messageExpression, message: given, reason } = recordOf(value);
    const message = wordOf(given);
    if (wordOf(expression).trim() === '') at.required('expression', 'expression is not specified');
    else at.into('expression', expression, expressions.validation);
    if (wordOf(messageExpression).trim() !== '') {
      at.into('messageExpression', messageExpression, expressions.message);
    } else if (messageExpression) {
      at.invalid('messageExpression', messageExpression, 'must be non-empty if specified');
    }
    if (message !== '' && message.trim() === '') at.invalid('message', message, 'must be non-empty if specified');
    else if (/[\n\r]/.test(message.trim())) at.invalid('message', message, 'must not contain line breaks');
    at.into('reason', reason, ifGiven(oneOf('Forbidden', 'Invalid', 'RequestEntityTooLarge')));
  };
}

const auditAnnotationsMax = 20;
const auditBytesMax = 5 * 1024;

function auditAnnotations(expressions: Expressions): FieldCheck {
  return (value, at) => {
    const list = recordsOf(value);
    const keys = new Set<unknown>();
    if (list.length > auditAnnotationsMax) {
      at.invalid('', list, `must not have more than ${auditAnnotationsMax} auditAnnotations`);
    }
    for (const [i, { key, valueExpression }] of list.entries()) {
      const name = `${at.object.metadata.name}/${wordOf(key)}`;
      for (const mistake of qualifiedName(name)) at.invalid(`[${i}].key`, name, mistake);
      const source = wordOf(valueExpression).trim();
      const field = `[${i}].valueExpression`;
      if (source === '') at.required(field, 'valueExpression is not specified');
      else if (source.length > auditBytesMax) at.required(field, `must not exceed ${auditBytesMax} bytes in length`);
      else at.into(i, source, () => at.into('valueExpression', source, expressions.audit));
      if (keys.has(key)) at.duplicate(`[${i}].key`, key);
      keys.add(key);
    }
  };
}

export const admissionPolicy: FieldCheck = fields({
  spec: (value, at) => {
    const spec = recordOf(value);
    const expressions = policyExpressions(spec);
    fields({ failurePolicy: requiredThen(failurePolicy), paramKind: ifGiven(paramKind) })(spec, at);
    const { matchConstraints, matchConditions: conditions, variables, validations } = spec;
    if (!isPresent(matchConstraints)) at.required('matchConstraints');
    else {
      at.into('matchConstraints', matchConstraints, matchResources);
      if (listOf(recordOf(matchConstraints).resourceRules).length === 0) at.required('matchConstraints.resourceRules');
    }
    at.into('matchConditions', conditions, matchConditions(matchExpressions(isPresent(spec.paramKind))));
    at.into('variables', variables, each(variable(expressions)));
    if (listOf(validations).length + listOf(spec.auditAnnotations).length === 0) {
      const why = 'validations or auditAnnotations must contain at least one item';
      at.required('validations', why);
      at.required('auditAnnotations', why);
      return;
    }
    at.into('validations', validations, each(validation(expressions)));
    at.into('auditAnnotations', spec.auditAnnotations, auditAnnotations(expressions));
  },
});

const paramRef: FieldCheck = (value, at) => {
  const { name, selector, parameterNotFoundAction: action } = recordOf(value);
  const exclusive = 'name and selector are mutually exclusive';
  if (name) {
    at.into('name', name, textOfForm(pathSegment));
    if (isPresent(selector)) at.forbidden('name', exclusive);
  }
  if (isPresent(selector)) {
    at.into('selector', selector, selectorRule);
    if (name) at.forbidden('selector', exclusive);
  }
  if (!name && !isPresent(selector)) at.required('', 'one of name or selector must be specified');
  at.into('parameterNotFoundAction', action, requiredThen(oneOf('Deny', 'Allow')));
};

const validationActions: FieldCheck = (value, at) => {
  const given = textsOf(value);
  const actions = ['Audit', 'Deny', 'Warn'];
  for (const [i, action] of given.entries()) {
    at.into(i, action, oneOf(...actions));
    if (given.indexOf(action) < i) at.duplicate(`[${i}]`, action);
  }
  if (given.includes('Deny') && given.includes('Warn')) {
    const why =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    at.invalid('', given, why);
  }
  needed('at least one validation action is required')(value, at);
};

export const admissionPolicyBinding: FieldCheck = fields({
  spec: fields({
    policyName: requiredThen(textOfForm(dnsSubdomain)),
    paramRef: ifGiven(paramRef),
    matchResources: ifGiven(matchResources),
    validationActions,
  }),
});
