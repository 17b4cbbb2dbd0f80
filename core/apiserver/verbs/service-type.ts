/**
 * The fields that an update of a Service keeps and drops, as in Kubernetes. An update that leaves out the addresses keeps them. When the type changes, fields
 * that only the former type has are dropped if the user has left them as they were.
 */
import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';

type Spec = Record<string, unknown>;

/** Runs before defaults are filled in, so the type may be absent. */
const isOf = ({ type }: Spec, ...types: readonly string[]) => types.includes(String(type || 'ClusterIP'));
const isBalanced = (spec: Spec) => isOf(spec, 'LoadBalancer');
const hasNodePorts = (spec: Spec) =>
  isOf(spec, 'NodePort') || (isBalanced(spec) && spec.allocateLoadBalancerNodePorts !== false);
const hasAddresses = (spec: Spec) => isOf(spec, 'ClusterIP', 'NodePort', 'LoadBalancer');
const isExternal = (spec: Spec) =>
  isOf(spec, 'NodePort', 'LoadBalancer') ||
  (isOf(spec, 'ClusterIP') && Array.isArray(spec.externalIPs) && spec.externalIPs.length > 0);

/** Fields that go together, and the Services that have them. */
const dependent: readonly (readonly [has: (spec: Spec) => boolean, ...fields: string[]])[] = [
  [hasAddresses, 'clusterIP', 'clusterIPs'],
  [hasAddresses, 'ipFamilies'],
  [hasAddresses, 'ipFamilyPolicy'],
  [(spec) => isBalanced(spec) && spec.externalTrafficPolicy === 'Local', 'healthCheckNodePort'],
  [isBalanced, 'allocateLoadBalancerNodePorts'],
  [isBalanced, 'loadBalancerClass'],
  [isExternal, 'externalTrafficPolicy'],
];

/** Changes `object` in place. */
export function prepareServiceUpdate(object: KubeObject, old: KubeObject): void {
  const { spec = {} } = object;
  const before = old.spec;
  if (!isRecord(spec) || !isRecord(before)) return;
  object.spec = spec;
  if (hasAddresses(before) && hasAddresses(spec)) keepAddresses(spec, before);
  followAddress(spec, before);
  const lost = dependent.filter(([has, ...names]) => {
    return has(before) && !has(spec) && names.every((name) => equalJson(spec[name], before[name]));
  });
  const portsBefore = new Set(nodePorts(before));
  if (hasNodePorts(before) && !hasNodePorts(spec) && nodePorts(spec).every((port) => portsBefore.has(port))) {
    for (const port of Array.isArray(spec.ports) ? spec.ports : []) if (isRecord(port)) delete port.nodePort;
  }
  for (const [, ...names] of lost) for (const name of names) delete spec[name];
}

function keepAddresses(spec: Spec, before: Spec): void {
  if (!spec.clusterIP && before.clusterIP) spec.clusterIP = before.clusterIP;
  const isLeftOut = !Array.isArray(spec.clusterIPs) || spec.clusterIPs.length === 0;
  if (isLeftOut && before.clusterIPs && spec.clusterIP === before.clusterIP) spec.clusterIPs = before.clusterIPs;
}

/** If only the one address is another, the list follows. */
function followAddress(spec: Spec, before: Spec): void {
  if (
    spec.clusterIP !== before.clusterIP &&
    Array.isArray(spec.clusterIPs) &&
    equalJson(spec.clusterIPs, before.clusterIPs)
  ) {
    if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP, ...spec.clusterIPs.slice(1)];
    else delete spec.clusterIPs;
  }
}

function nodePorts({ ports }: Spec): unknown[] {
  const given = (Array.isArray(ports) ? ports : []).map((port) => (isRecord(port) ? port.nodePort : undefined));
  return given.filter((port) => port !== undefined && port !== 0);
}
