/** FlowSchemas and PriorityLevelConfigurations. */
import { dnsLabel, dnsSubdomain } from './formats.ts';
import {
  all,
  atLeast,
  between,
  each,
  type FieldCheck,
  fields,
  filled,
  ifGiven,
  isPresent,
  needed,
  numberOf,
  recordOf,
  recordsOf,
  requiredThen,
  textOfForm,
  textsOf,
  wordOf,
} from './visit.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

/** A list in which `*` stands alone. */
function orAll(missing: string, others: string, rest: FieldCheck = () => undefined): FieldCheck {
  return (value, at) => {
    const given = textsOf(value);
    if (given.length === 0) at.required('', missing);
    else if (!given.includes('*')) rest(value, at);
    else if (given.length > 1) at.invalid('', given, `if '*' is present, must not specify other ${others}`);
  };
}

const verbList: FieldCheck = orAll('verbs must contain at least one value', 'verbs', (value, at) => {
  if (!textsOf(value).every((verb) => verbs.includes(verb))) at.unsupported('', value, verbs);
});

const urlPath: FieldCheck = (value, at) => {
  const path = wordOf(value);
  const stars = path.split('*').length - 1;
  if (path === '') at.invalid('', path, 'must not be empty');
  else if (path === '/') return;
  else if (!path.startsWith('/')) at.invalid('', path, 'must start with slash');
  else if (path.includes(' ')) at.invalid('', path, 'must not contain white-space');
  else if (path.includes('//')) at.invalid('', path, 'must not contain double slash');
  else if (stars > 1 || (stars === 1 && !path.endsWith('/*'))) {
    at.invalid('', path, 'wildcard can only do suffix matching');
  }
};

const namespaceOf: FieldCheck = textOfForm((name) =>
  dnsLabel(name).map((mistake) => `each member of this list must be '*' or a DNS-1123 label; ${mistake}`),
);

const resourceRule: FieldCheck = all(
  fields({
    verbs: verbList,
    apiGroups: orAll('resource rules must supply at least one api group', 'api groups'),
    resources: orAll('resource rules must supply at least one resource', 'resources'),
  }),
  (value, at) => {
    const { namespaces, clusterScope } = recordOf(value);
    if (clusterScope === true && textsOf(namespaces).length === 0) return;
    const missing = 'resource rules that are not cluster scoped must supply at least one namespace';
    at.into('namespaces', namespaces, orAll(missing, 'namespaces', each(namespaceOf)));
  },
);
const nonResourceRule: FieldCheck = fields({
  verbs: verbList,
  nonResourceURLs: orAll('nonResourceURLs must contain at least one value', 'non-resource URLs', each(urlPath)),
});

/** The field that each kind of subject has. */
const subjectFields: ReadonlyMap<string, readonly [string, FieldCheck]> = new Map([
  [
    'ServiceAccount',
    [
      'serviceAccount',
      fields({
        name: requiredThen(textOfForm((name) => (name === '*' ? [] : dnsSubdomain(name)))),
        namespace: requiredThen(textOfForm(dnsLabel), 'must specify namespace for service account'),
      }),
    ],
  ],
  ['User', ['user', fields({ name: filled })]],
  ['Group', ['group', fields({ name: filled })]],
]);

const subject: FieldCheck = (value, at) => {
  const given = recordOf(value);
  const kind = wordOf(given.kind);
  const [own, check] = subjectFields.get(kind) ?? [];
  if (own === undefined || check === undefined) {
    at.unsupported('kind', kind, ['Group', 'ServiceAccount', 'User']);
    return;
  }
  if (isPresent(given[own])) at.into(own, given[own], check);
  else at.required(own, `${own} is required when subject kind is '${kind}'`);
  for (const [other, [field]] of subjectFields) {
    if (field !== own && isPresent(given[field])) {
      at.forbidden(field, `${field} is forbidden when subject kind is not '${other}'`);
    }
  }
};

const rule: FieldCheck = (value, at) => {
  const { resourceRules, nonResourceRules } = recordOf(value);
  fields({ subjects: [needed('subjects must contain at least one value'), each(subject)] })(value, at);
  if (recordsOf(resourceRules).length + recordsOf(nonResourceRules).length === 0) {
    at.required('', 'at least one of resourceRules and nonResourceRules has to be non-empty');
  }
  fields({ resourceRules: each(resourceRule), nonResourceRules: each(nonResourceRule) })(value, at);
};

const precedenceMax = 10_000;

export const flowSchema: FieldCheck = fields({
  spec: fields({
    matchingPrecedence: (value, at) => {
      const precedence = numberOf(value);
      if (precedence <= 0) at.invalid('', precedence, 'must be a positive value');
      if (precedence > precedenceMax) at.invalid('', precedence, `must not be greater than ${precedenceMax}`);
      if (precedence === 1 && at.object.metadata.name !== 'exempt') {
        at.invalid('', precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
      }
    },
    distinguisherMethod: ifGiven((value, at) => {
      const methods = ['ByNamespace', 'ByUser'];
      if (!methods.includes(wordOf(recordOf(value).type))) at.unsupported('type', value, methods);
    }),
    priorityLevelConfiguration: fields({
      name: requiredThen(textOfForm(dnsSubdomain), 'must reference a priority level'),
    }),
    rules: each(rule),
  }),
});

const queuesMax = 10_000_000;

const queuing: FieldCheck = (value, at) => {
  const { queueLengthLimit, queues: given, handSize } = recordOf(value);
  const queues = numberOf(given);
  const hand = numberOf(handSize);
  at.into('queueLengthLimit', queueLengthLimit, atLeast(1, 'must be positive'));
  if (queues <= 0) at.invalid('queues', queues, 'must be positive');
  else if (queues > queuesMax) at.invalid('queues', queues, `must not be greater than ${queuesMax}`);
  if (hand <= 0) at.invalid('handSize', hand, 'must be positive');
  else if (hand > queues) at.invalid('handSize', hand, `should not be greater than queues (${queues})`);
  else {
    const bits = entropyBits(queues, hand);
    const why = `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than 60`;
    if (bits > 60) at.invalid('handSize', hand, why);
  }
};

/** The bits of a hash that deals `hand` of `queues` cards. */
function entropyBits(queues: number, hand: number): number {
  let total = 0;
  for (let i = 0; i < hand; i++) total += Math.log2(queues - i);
  return Math.ceil(total);
}

const limitResponse: FieldCheck = (value, at) => {
  const { type, queuing: parameters } = recordOf(value);
  if (type === 'Queue') {
    if (isPresent(parameters)) at.into('queuing', parameters, queuing);
    else at.required('queuing', 'must not be empty if limited.limitResponse.type is Limited');
  } else if (type !== 'Reject') at.unsupported('type', wordOf(type), ['Queue', 'Reject']);
  else if (isPresent(parameters)) {
    at.forbidden('queuing', 'must be nil if limited.limitResponse.type is not Limited');
  }
};

const shares: FieldCheck = ifGiven(atLeast(0, 'must be a non-negative integer'));
const lendablePercent: FieldCheck = ifGiven(between(0, 100));

const limited: FieldCheck = fields({
  nominalConcurrencyShares: shares,
  limitResponse,
  lendablePercent,
  borrowingLimitPercent: ifGiven(atLeast(0, 'if specified, must be a non-negative integer')),
});
const exempt: FieldCheck = fields({ nominalConcurrencyShares: shares, lendablePercent });

export const priorityLevel: FieldCheck = fields({
  spec: (value, at) => {
    const { type, limited: limits, exempt: exemption } = recordOf(value);
    if ((at.object.metadata.name === 'exempt') !== (type === 'Exempt')) {
      at.invalid('type', wordOf(type), "must be 'Exempt' if and only if `name` is 'exempt'");
    }
    if (type === 'Exempt') {
      if (isPresent(limits)) at.forbidden('limited', 'must be nil if the type is not Limited');
      at.into('exempt', exemption, ifGiven(exempt));
    } else if (type === 'Limited') {
      if (isPresent(exemption)) at.forbidden('exempt', 'must be nil if the type is Limited');
      if (isPresent(limits)) at.into('limited', limits, limited);
      else at.required('limited', 'must not be empty when type is Limited');
    } else at.unsupported('type', wordOf(type), ['Exempt', 'Limited']);
  },
});
