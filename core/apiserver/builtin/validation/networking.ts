/** Ingresses, NetworkPolicies and addresses of services. */
import { addressBytes, addressRange, canonicalRange, familyOf, isStrictlyInside, parseRange } from './addresses.ts';
import { portNumber } from './containers.ts';
import {
  dns1035Label,
  dnsLabel,
  dnsSubdomain,
  domainPrefixedPath,
  pathSegment,
  portName,
  wildcardSubdomain,
} from './formats.ts';
import { selectorRule } from './selectors.ts';
import { fixed } from './updates.ts';
import {
  all,
  each,
  type FieldCheck,
  fields,
  ifFilled,
  ifGiven,
  isPresent,
  listOf,
  longest,
  numberOf,
  oneOf,
  recordOf,
  requiredThen,
  textOfForm,
  textsOf,
  wordOf,
} from './visit.ts';

const host: FieldCheck = textOfForm((name) => (name.includes('*') ? wildcardSubdomain(name) : dnsSubdomain(name)));
const noAddress: FieldCheck = (value, at) => {
  if (addressBytes(wordOf(value))) at.invalid('', value, 'must be a DNS name, not an IP address');
};
const segment: FieldCheck = requiredThen(textOfForm(pathSegment));
const localReference: FieldCheck = fields({
  apiGroup: ifGiven(textOfForm(dnsSubdomain)),
  kind: segment,
  name: segment,
});

const servicePort: FieldCheck = (value, at) => {
  const { name, number } = recordOf(recordOf(value).port);
  if (name && number) at.invalid('', '', 'cannot set both port name & port number');
  else if (name) at.into('service.port.name', name, textOfForm(portName));
  else if (number) at.into('service.port.number', number, portNumber);
  else at.required('', 'port name or number is required');
};

const backend: FieldCheck = (value, at) => {
  const { resource, service } = recordOf(value);
  if (isPresent(resource) && isPresent(service)) at.invalid('', '', 'cannot set both resource and service backends');
  else if (isPresent(resource)) at.into('resource', resource, localReference);
  else if (!isPresent(service)) at.invalid('', '', 'resource or service backend is required');
  else {
    at.into('service.name', recordOf(service).name, requiredThen(textOfForm(dns1035Label)));
    servicePort(service, at);
  }
};

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];

const ingressPath: FieldCheck = (value, at) => {
  const { path: given, pathType, backend: target } = recordOf(value);
  const path = wordOf(given);
  if (!isPresent(pathType)) {
    at.required('pathType', 'pathType must be specified');
    return;
  }
  const isAbsolute = path.startsWith('/');
  const isFree = pathType === 'ImplementationSpecific';
  if (!pathTypes.includes(wordOf(pathType))) at.unsupported('pathType', pathType, pathTypes);
  else if (!isAbsolute && !(isFree && path === '')) at.invalid('path', path, 'must be an absolute path');
  if (!isFree && pathTypes.includes(wordOf(pathType))) {
    for (const part of ['//', '/./', '/../', '%2f', '%2F']) {
      if (path.includes(part)) at.invalid('path', path, `must not contain '${part}'`);
    }
    for (const end of ['/..', '/.']) if (path.endsWith(end)) at.invalid('path', path, `cannot end with '${end}'`);
  }
  at.into('backend', target, backend);
};

const ingressRule: FieldCheck = (value, at) => {
  const { host: name, http } = recordOf(value);
  at.into('host', name, ifFilled(all(noAddress, host)));
  at.into('http', http, ifGiven(fields({ paths: requiredThen(each(ingressPath)) })));
};

const classAnnotation = 'kubernetes.io/ingress.class';

export const ingress: FieldCheck = all(
  fields({
    spec: all(
      (value, at) => {
        const { rules, defaultBackend } = recordOf(value);
        if (listOf(rules).length > 0 || isPresent(defaultBackend)) return;
        at.invalid('', rules ?? null, 'either `defaultBackend` or `rules` must be specified');
      },
      fields({
        defaultBackend: ifGiven(backend),
        rules: each(ingressRule),
        tls: each(fields({ hosts: each(host), secretName: ifFilled(textOfForm(dnsSubdomain)) })),
        ingressClassName: ifGiven(textOfForm(dnsSubdomain)),
      }),
    ),
  }),
  (value, at) => {
    const { metadata, spec } = recordOf(value);
    const given = recordOf(recordOf(metadata).annotations)[classAnnotation];
    const { ingressClassName: name } = recordOf(spec);
    if (at.old || !isPresent(given) || !isPresent(name) || given === name) return;
    at.invalid(`annotations.${classAnnotation}`, given, 'must match `ingressClassName` when both are specified');
  },
);

const controllerMax = 250;

const classParameters: FieldCheck = ifGiven((value, at) => {
  const { scope, namespace } = recordOf(value);
  localReference(value, at);
  at.into('scope', scope, oneOf('Cluster', 'Namespace'));
  if (scope === 'Namespace') {
    if (isPresent(namespace)) at.into('namespace', namespace, textOfForm(dnsLabel));
    else at.required('namespace', "`parameters.scope` is set to 'Namespace'");
  }
  if (scope === 'Cluster' && isPresent(namespace)) at.forbidden('namespace', "`parameters.scope` is set to 'Cluster'");
});

export const ingressClass: FieldCheck = all(
  fixed('spec.controller'),
  fields({
    spec: fields({
      controller: [
        longest(controllerMax),
        requiredThen((value, at) => {
          for (const [part, mistake] of domainPrefixedPath(wordOf(value))) at.invalid('', part, mistake);
        }),
      ],
      parameters: classParameters,
    }),
  }),
);

const policyPort: FieldCheck = (value, at) => {
  const { protocol, port, endPort } = recordOf(value);
  at.into('protocol', protocol, ifGiven(oneOf('TCP', 'UDP', 'SCTP')));
  if (!isPresent(port)) {
    if (isPresent(endPort)) at.invalid('endPort', endPort, 'may not be specified when `port` is not specified');
  } else if (typeof port === 'string') {
    if (isPresent(endPort)) at.invalid('endPort', endPort, 'may not be specified when `port` is non-numeric');
    at.into('port', port, textOfForm(portName));
  } else {
    at.into('port', port, portNumber);
    if (!isPresent(endPort)) return;
    if (numberOf(endPort) < numberOf(port)) {
      at.invalid('endPort', port, 'must be greater than or equal to `port`');
    }
    at.into('endPort', endPort, portNumber);
  }
};

const ipBlock: FieldCheck = (value, at) => {
  const { cidr, except } = recordOf(value);
  const outer = parseRange(wordOf(cidr));
  at.into('cidr', cidr, requiredThen(textOfForm(addressRange)));
  if (!outer) return;
  for (const [i, given] of textsOf(except).entries()) {
    const inner = parseRange(given);
    for (const mistake of addressRange(given)) at.invalid(`except[${i}]`, given, mistake);
    if (inner && !isStrictlyInside(inner, outer)) {
      at.invalid(`except[${i}]`, given, 'must be a strict subset of `cidr`');
    }
  }
};

const peer: FieldCheck = (value, at) => {
  const { podSelector, namespaceSelector, ipBlock: block } = recordOf(value);
  fields({ podSelector: selectorRule, namespaceSelector: selectorRule, ipBlock: ifGiven(ipBlock) })(value, at);
  const count = [podSelector, namespaceSelector, block].filter(isPresent).length;
  if (count === 0) at.required('', 'must specify a peer');
  else if (count > 1 && isPresent(block)) at.forbidden('', 'may not specify both ipBlock and another peer');
};

export const networkPolicy: FieldCheck = fields({
  spec: fields({
    podSelector: selectorRule,
    ingress: each(fields({ ports: each(policyPort), from: each(peer) })),
    egress: each(fields({ ports: each(policyPort), to: each(peer) })),
    policyTypes: (value, at) => {
      if (listOf(value).length > 2) at.invalid('', value, 'may not specify more than two policyTypes');
      else each(oneOf('Ingress', 'Egress'))(value, at);
    },
  }),
});

const optionalSegment: FieldCheck = ifFilled(textOfForm(pathSegment));

export const ipAddress: FieldCheck = all((value, at) => {
  const { parentRef } = recordOf(recordOf(value).spec);
  if (!isPresent(parentRef)) at.required('spec.parentRef');
  else {
    at.into('spec', parentRef, () =>
      at.into(
        'parentRef',
        parentRef,
        fields({
          group: ifFilled(textOfForm(dnsSubdomain)),
          resource: segment,
          name: segment,
          namespace: optionalSegment,
        }),
      ),
    );
  }
}, fixed('spec.parentRef'));

const ranges: FieldCheck = (value, at) => {
  const given = textsOf(value);
  if (given.length === 0) at.required('', 'at least one CIDR required');
  if (given.length > 2) {
    at.invalid('', { cidrs: given }, 'may only hold up to 2 values');
    return;
  }
  each(textOfForm(canonicalRange))(given, at);
  const [a, b] = given.map((range) => familyOf(parseRange(range)?.address));
  if (given.length === 2 && a !== undefined && a === b) {
    const why = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';
    at.invalid('', given, why);
  }
};

export const serviceCidr: FieldCheck = (value, at) => {
  const { cidrs } = recordOf(recordOf(value).spec);
  const before = textsOf(recordOf(at.old?.spec).cidrs);
  const now = textsOf(cidrs);
  if (!at.old || (before.length === 1 && now.length === 2)) {
    if (at.old && now[0] !== before[0]) at.invalid('spec.cidrs[0]', now[0], 'field is immutable');
    at.into('spec', cidrs, () => at.into('cidrs', cidrs, ranges));
  } else if (now.length !== before.length) at.invalid('spec.cidrs', cidrs, 'field is immutable');
  else {
    for (const [i, range] of now.entries()) {
      if (range !== before[i]) at.invalid(`spec.cidrs[${i}]`, range, 'field is immutable');
    }
  }
};
