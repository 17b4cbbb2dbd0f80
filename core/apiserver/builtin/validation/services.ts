/** Services, Endpoints and EndpointSlices. */
import { address, addressBytes, addressRange, canonicalAddress, familyOf, reachableAddress } from './addresses.ts';
import { portNumber, portNumberOrName, protocol } from './containers.ts';
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from './formats.ts';
import { labels } from './selectors.ts';
import { fixed, isSameValue } from './updates.ts';
import {
  all,
  each,
  type FieldCheck,
  fields,
  givenThen,
  ifFilled,
  ifGiven,
  isPresent,
  listOf,
  numberOf,
  oneOf,
  type ReadValues,
  recordOf,
  recordsOf,
  requiredOneOf,
  requiredThen,
  textOfForm,
  textsOf,
  type Visit,
  wordOf,
} from './visit.ts';

/** The addresses of a Service. The first one may be written alone. */
function clusterIPsOf({ clusterIP, clusterIPs }: ReadValues): readonly string[] {
  const list = textsOf(clusterIPs);
  return list.length > 0 ? list : clusterIP ? [wordOf(clusterIP)] : [];
}

function isHeadless(spec: ReadValues): boolean {
  const ips = clusterIPsOf(spec);
  return ips.length === 1 && ips[0] === 'None';
}

const byType: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  const { type, externalName, ports } = spec;
  if (listOf(ports).length === 0 && !isHeadless(spec) && type !== 'ExternalName') at.required('ports');
  if ((type === 'LoadBalancer' || type === 'NodePort') && isHeadless(spec)) {
    at.invalid('clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`);
  }
  if (type !== 'ExternalName') return;
  const why = 'may not be set for ExternalName services';
  if (clusterIPsOf(spec).length > 0) at.forbidden('clusterIPs', why);
  if (listOf(spec.ipFamilies).length > 0) at.forbidden('ipFamilies', why);
  if (isPresent(spec.ipFamilyPolicy)) at.forbidden('ipFamilyPolicy', why);
  at.into('externalName', wordOf(externalName).replace(/\.$/, ''), requiredThen(textOfForm(dnsSubdomain)));
};

/** The name is required if there are several ports. */
function portNames(names: Set<unknown>, isRequired: boolean): FieldCheck {
  return (value, at) => {
    const { name } = recordOf(value);
    if (!name) {
      if (isRequired) at.required('name');
      return;
    }
    at.into('name', name, textOfForm(dnsLabel));
    if (names.has(name)) at.duplicate('name', name);
    names.add(name);
  };
}

const ports: FieldCheck = (value, at) => {
  const names = new Set<unknown>();
  const isRequired = listOf(value).length > 1;
  each(
    all(
      portNames(names, isRequired),
      fields({
        port: portNumber,
        protocol,
        targetPort: portNumberOrName,
        appProtocol: ifGiven(textOfForm(qualifiedName)),
      }),
    ),
  )(value, at);
};

const affinitySecondsMax = 86_400;

const affinity: FieldCheck = (value, at) => {
  const { sessionAffinity: type, sessionAffinityConfig: config } = recordOf(value);
  at.into('sessionAffinity', type, requiredOneOf('ClientIP', 'None'));
  if (type === 'None' && isPresent(config)) {
    at.forbidden('sessionAffinityConfig', 'must not be set when session affinity is None');
  }
  if (type !== 'ClientIP') return;
  const { timeoutSeconds } = recordOf(recordOf(config).clientIP);
  const seconds = numberOf(timeoutSeconds);
  if (seconds <= 0 || seconds > affinitySecondsMax) {
    const why = `must be greater than 0 and less than ${affinitySecondsMax}`;
    at.invalid('sessionAffinityConfig.clientIP.timeoutSeconds', timeoutSeconds, why);
  }
};

const families = ['IPv4', 'IPv6'];

const clusterIPs: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  if (spec.type === 'ExternalName') return;
  const { clusterIP } = spec;
  const ips = clusterIPsOf(spec);
  if (clusterIP && ips[0] !== clusterIP) at.invalid('clusterIPs', ips, 'first value must match `clusterIP`');
  if (!clusterIP && ips.length > 0) at.invalid('clusterIPs', ips, 'must be empty when `clusterIP` is not specified');
  const given = textsOf(spec.ipFamilies);
  const seen = new Set<string>();
  for (const [i, family] of given.entries()) {
    if (!families.includes(family)) at.unsupported(`ipFamilies[${i}]`, family, families);
    if (seen.has(family)) at.duplicate(`ipFamilies[${i}]`, family);
    seen.add(family);
  }
  at.into('ipFamilyPolicy', spec.ipFamilyPolicy, ifGiven(oneOf('PreferDualStack', 'RequireDualStack', 'SingleStack')));
  const before = clusterIPsOf(recordOf(at.old?.spec));
  let isWrong = false;
  for (const [i, ip] of ips.entries()) {
    if (ip === 'None' && i === 0) {
      if (ips.length > 1) at.invalid('clusterIPs', ips, "'None' must be the first and only value");
      isWrong ||= ips.length > 1;
      continue;
    }
    const mistakes = before.includes(ip) ? [] : address(ip);
    for (const mistake of mistakes) at.invalid(`clusterIPs[${i}]`, ip, mistake);
    isWrong ||= mistakes.length > 0;
  }
  if (ips.length > 2) at.invalid('clusterIPs', ips, 'may only hold up to 2 values');
  if (isWrong) return;
  const kinds = ips.map((ip) => familyOf(addressBytes(ip)));
  if (ips.length === 2 && kinds[0] === kinds[1]) {
    at.invalid('clusterIPs', ips, 'may specify no more than one IP for each IP family');
  }
  if (isHeadless(spec)) return;
  for (const [i, ip] of ips.entries()) {
    const wanted = given[i];
    if (wanted === undefined || !families.includes(wanted) || `IPv${kinds[i]}` === wanted) continue;
    at.invalid(`clusterIPs[${i}]`, ip, `expected an ${wanted} value as indicated by \`ipFamilies[${i}]\``);
  }
};

const externalIPs: FieldCheck = (value, at) => {
  for (const [i, ip] of textsOf(value).entries()) {
    at.into(i, ip, textOfForm(address(ip).length > 0 ? address : reachableAddress));
  }
};

const nodePorts: FieldCheck = (value, at) => {
  const { type, ports: list } = recordOf(value);
  if (type === 'ClusterIP') {
    for (const [i, { nodePort }] of recordsOf(list).entries()) {
      if (nodePort) at.forbidden(`ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'");
    }
  }
  const seen = new Set<string>();
  for (const [i, { nodePort, protocol: of }] of recordsOf(list).entries()) {
    if (!nodePort) continue;
    const key = `${wordOf(of)} ${numberOf(nodePort)}`;
    if (seen.has(key)) at.duplicate(`ports[${i}].nodePort`, nodePort);
    seen.add(key);
  }
  const used = new Set<string>();
  for (const [i, { port, protocol: of }] of recordsOf(list).entries()) {
    const key = `${wordOf(of)} ${numberOf(port)}`;
    if (used.has(key)) at.duplicate(`ports[${i}]`, { protocol: of, port });
    used.add(key);
  }
};

const rangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges';

const onlyBalanced = "may only be used when `type` is 'LoadBalancer'";

const balancerClass: FieldCheck = (value, at) => {
  const { type, loadBalancerClass } = recordOf(value);
  if (type === 'LoadBalancer') at.into('loadBalancerClass', loadBalancerClass, ifGiven(textOfForm(qualifiedName)));
  else if (isPresent(loadBalancerClass)) at.forbidden('loadBalancerClass', onlyBalanced);
};

const loadBalancer: FieldCheck = (value, at) => {
  const { type, loadBalancerSourceRanges: ranges, allocateLoadBalancerNodePorts } = recordOf(value);
  const isBalanced = type === 'LoadBalancer';
  if (listOf(ranges).length > 0) {
    if (!isBalanced) at.forbidden('LoadBalancerSourceRanges', onlyBalanced);
    for (const [i, range] of textsOf(ranges).entries()) {
      for (const mistake of addressRange(range.trim())) {
        at.invalid(`LoadBalancerSourceRanges[${i}]`, range.trim(), mistake);
      }
    }
  }
  if (isPresent(allocateLoadBalancerNodePorts) && !isBalanced)
    at.forbidden('allocateLoadBalancerNodePorts', onlyBalanced);
  balancerClass(value, at);
};

/** True if traffic from outside reaches the Service. */
function isExternal(spec: ReadValues): boolean {
  const { type, externalIPs: ips } = spec;
  return type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && listOf(ips).length > 0);
}

const traffic: FieldCheck = (value, at) => {
  const spec = recordOf(value);
  const { externalTrafficPolicy: external, healthCheckNodePort: health, type } = spec;
  if (isExternal(spec)) at.into('externalTrafficPolicy', external, requiredOneOf('Cluster', 'Local'));
  else if (external) {
    at.invalid('externalTrafficPolicy', external, 'may only be set for externally-accessible services');
  }
  if (!(type === 'LoadBalancer' && external === 'Local')) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    if (health) at.invalid('healthCheckNodePort', health, why);
  } else at.into('healthCheckNodePort', health, ifFilled(portNumber));
  fields({
    internalTrafficPolicy: ifGiven(oneOf('Cluster', 'Local')),
    trafficDistribution: ifGiven(oneOf('PreferClose', 'PreferSameZone', 'PreferSameNode')),
  })(spec, at);
};

function rangesInAnnotation(value: unknown, at: Visit): void {
  const { metadata, spec } = recordOf(value);
  const { type, loadBalancerSourceRanges } = recordOf(spec);
  const given = recordOf(recordOf(metadata).annotations)[rangesAnnotation];
  if (!isPresent(given) || listOf(loadBalancerSourceRanges).length > 0) return;
  const field = `metadata.annotations[${rangesAnnotation}]`;
  if (type !== 'LoadBalancer') at.forbidden(field, "may only be used when `type` is 'LoadBalancer'");
  for (const range of wordOf(given).trim() === '' ? [] : wordOf(given).split(',')) {
    for (const mistake of addressRange(range.trim())) at.invalid(field, range.trim(), mistake);
  }
}

const serviceSpec: FieldCheck = all(
  byType,
  fields({ ports, selector: labels }),
  affinity,
  clusterIPs,
  fields({
    externalIPs,
    type: requiredOneOf('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'),
  }),
  nodePorts,
  loadBalancer,
  traffic,
);

/** Refuses changes of fields that stay while a Service keeps its type. */
function kept(value: unknown, at: Visit): void {
  if (!at.old) return;
  const now = recordOf(recordOf(value).spec);
  const before = recordOf(at.old.spec);
  const haveAddresses = [now, before].every(({ type }) => addressTypes.has(type));
  if (haveAddresses && !(isHeadless(now) && isHeadless(before))) keptAddresses(now, before, at);
  if (now.type === 'LoadBalancer' && before.type === 'LoadBalancer') {
    if (!isSameValue(now.loadBalancerClass, before.loadBalancerClass, at.fieldAt('spec.loadBalancerClass'))) {
      at.invalid('spec.loadBalancerClass', now.loadBalancerClass, 'may not change once set');
    }
  }
  at.into('spec', now, balancerClass);
}

const addressTypes: ReadonlySet<unknown> = new Set(['ClusterIP', 'NodePort', 'LoadBalancer']);

function keptAddresses(now: ReadValues, before: ReadValues, at: Visit): void {
  const ips = clusterIPsOf(now);
  for (const [i, ip] of clusterIPsOf(before).entries()) {
    if (ips[i] === undefined) {
      if (i === 0) at.invalid('spec.clusterIPs[0]', ips, 'primary clusterIP can not be unset');
    } else if (ips[i] !== ip) at.invalid(`spec.clusterIPs[${i}]`, ips, 'may not change once set');
  }
  const family = textsOf(now.ipFamilies)[0];
  const familyBefore = textsOf(before.ipFamilies)[0];
  if (family !== undefined && familyBefore !== undefined && family !== familyBefore) {
    at.invalid('spec.ipFamilies[0]', now.ipFamilies, 'may not change once set');
  }
}

/** As in Kubernetes, the addresses of a Service are checked first, and alone: they would be allocated before the rest is read. */
export const serviceAddresses: FieldCheck = fields({ spec: clusterIPs });

export const service: FieldCheck = (value, at) => {
  kept(value, at);
  fields({ spec: serviceSpec })(value, at);
  rangesInAnnotation(value, at);
};

const endpointAddress: FieldCheck = fields({
  ip: textOfForm(address),
  hostname: ifFilled(textOfForm(dnsLabel)),
  nodeName: ifGiven(textOfForm(dnsSubdomain)),
});
const reachable: FieldCheck = fields({ ip: textOfForm(reachableAddress) });

const subset: FieldCheck = (value, at) => {
  const { addresses, notReadyAddresses, ports: list } = recordOf(value);
  if (listOf(addresses).length + listOf(notReadyAddresses).length === 0) {
    at.required('', 'must specify `addresses` or `notReadyAddresses`');
  }
  fields({
    addresses: each(all(endpointAddress, reachable)),
    notReadyAddresses: each(all(endpointAddress, reachable)),
  })(value, at);
  const isNameRequired = listOf(list).length > 1;
  at.into(
    'ports',
    list,
    each((port) => {
      const { name } = recordOf(port);
      if (name) at.into('name', name, textOfForm(dnsLabel));
      else if (isNameRequired) at.required('name');
      fields({ port: portNumber, protocol, appProtocol: ifGiven(textOfForm(qualifiedName)) })(port, at);
    }),
  );
};

export const endpoints: FieldCheck = (value, at) => {
  if (at.old && isSameValue(recordOf(value).subsets, at.old.subsets, at.fieldAt('subsets'))) return;
  fields({ subsets: each(subset) })(value, at);
};

const domainName = (name: string): string[] => {
  const plain = name.replace(/\.$/, '');
  const mistakes = dnsSubdomain(plain);
  if (mistakes.length > 0) return [mistakes.join(',')];
  const isShort = plain.split('.').length < 2;
  return isShort ? ['should be a domain with at least two segments separated by dots'] : [];
};

/** `family` is the type of all addresses of the slice. */
function sliceAddresses(family: unknown): FieldCheck {
  return (value, at) => {
    const list = textsOf(value);
    if (list.length === 0) at.required('', 'must contain at least 1 address');
    else if (list.length > 100) at.tooMany('', list.length, 100);
    for (const [i, one] of list.entries()) {
      if (family === 'FQDN') {
        at.into(i, one, requiredThen(textOfForm(domainName)));
        continue;
      }
      if (family !== 'IPv4' && family !== 'IPv6') continue;
      const check = family === 'IPv4' ? address : canonicalAddress;
      if (check(one).length > 0) at.into(i, one, textOfForm(check));
      else {
        if (`IPv${familyOf(addressBytes(one))}` !== family) at.invalid('', one, `must be an ${family} address`);
        at.into(i, one, textOfForm(reachableAddress));
      }
    }
  };
}

function uniqueNames(check: (name: string) => string[], max: number): FieldCheck {
  return (value, at) => {
    const list = recordsOf(value);
    if (list.length > max) {
      at.tooMany('', list.length, max);
      return;
    }
    const seen = new Set<string>();
    for (const [i, item] of list.entries()) {
      const name = wordOf(item.name);
      if (seen.has(name)) at.duplicate(`[${i}].name`, name);
      seen.add(name);
      for (const mistake of check(name)) at.invalid(`[${i}].name`, name, mistake);
    }
  };
}

const hints: FieldCheck = ifGiven(
  fields({ forZones: uniqueNames(labelValue, 8), forNodes: uniqueNames(dnsSubdomain, 8) }),
);

const slicePorts: FieldCheck = (value, at) => {
  const list = recordsOf(value);
  const names = new Set<string>();
  for (const [i, port] of list.entries()) {
    const name = wordOf(port.name);
    at.into(i, port, () => {
      at.into('name', name, ifFilled(textOfForm(dnsLabel)));
      if (names.has(name)) at.duplicate('name', name);
      names.add(name);
      fields({ protocol: givenThen(oneOf('SCTP', 'TCP', 'UDP')), appProtocol: ifGiven(textOfForm(qualifiedName)) })(
        port,
        at,
      );
    });
  }
};

const endpointsMax = 1000;

export const endpointSlice: FieldCheck = all(
  fields({ addressType: requiredOneOf('FQDN', 'IPv4', 'IPv6'), ports: slicePorts }),
  (value, at) => {
    const { addressType, endpoints: list } = recordOf(value);
    if (at.old && isSameValue(list, at.old.endpoints, at.fieldAt('endpoints'))) return;
    const endpoint = fields({
      addresses: sliceAddresses(addressType),
      nodeName: ifGiven(textOfForm(dnsSubdomain)),
      hostname: ifGiven(textOfForm(dnsLabel)),
      hints,
    });
    at.into('endpoints', list, () => {
      if (listOf(list).length > endpointsMax) at.tooMany('', listOf(list).length, endpointsMax);
      each(endpoint)(list, at);
    });
  },
  fixed('addressType'),
);
