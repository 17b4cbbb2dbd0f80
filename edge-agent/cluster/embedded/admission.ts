/** Fills in the addresses of Services, which depend on the other Services of the cluster. */

import { giveFamilies } from '../../../core/apiserver/kinds/shown-address.ts';
import type { WriteAdmission } from '../../../core/apiserver/space.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { BanyanError } from '../../../core/runtime/errors.ts';
import type { ControlledSpace } from './controllers/objects.ts';

interface ServiceSpec {
  type?: string;
  clusterIP?: string;
  clusterIPs?: string[];
  ports?: { nodePort?: number }[];
  [field: string]: unknown;
}

/** Number of Service addresses: 10.96.0.0/16 without its first address, which would be the API server's, and without addresses that end with .0 or .255. */
const addressesMax = 256 * 254 - 1;
/** First port of the usual range of node ports. */
const firstNodePort = 30_000;
const nodePortsMax = 2_768;

/** Calls `space` only when an object is written, because the space may be created with this admission. */
export function clusterAdmission(space: () => ControlledSpace): WriteAdmission {
  return ({ operation, key, object, old, subresource }) => {
    if (operation === 'delete' || subresource !== undefined || !object) return;
    if (key.group === '' && key.resource === 'services') completeService(object, old, space());
  };
}

/** Gives the Service an address. A Service keeps its address: if an update has no address, the Service gets its old address again. */
function completeService(service: KubeObject, old: KubeObject | undefined, space: ControlledSpace): void {
  const spec = (service.spec ?? {}) as ServiceSpec;
  if (spec.type === 'ExternalName') return;
  const before = old?.spec as ServiceSpec | undefined;
  if (!spec.clusterIP) {
    const kept = before?.type === 'ExternalName' ? undefined : before?.clusterIP;
    spec.clusterIP = kept || freeAddress(services(space));
  }
  spec.clusterIPs = [spec.clusterIP];
  giveFamilies(spec);
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') givePorts(spec, before, space);
  service.spec = spec;
}

function givePorts(spec: ServiceSpec, before: ServiceSpec | undefined, space: ControlledSpace): void {
  const used = new Set(services(space).flatMap((one) => (one.ports ?? []).map((port) => port.nodePort)));
  for (const [index, port] of (spec.ports ?? []).entries()) {
    if (port.nodePort) continue;
    const candidates = Array.from({ length: nodePortsMax }, (_, i) => firstNodePort + i);
    const free = before?.ports?.[index]?.nodePort ?? candidates.find((candidate) => !used.has(candidate));
    if (free === undefined) throw new BanyanError('Invalid', 'no node port is free; delete a Service of type NodePort');
    used.add(free);
    port.nodePort = free;
  }
}

function freeAddress(used: readonly ServiceSpec[]): string {
  const taken = new Set(used.map((spec) => spec.clusterIP));
  for (let i = 1; i <= addressesMax; i++) {
    const address = `10.96.${Math.floor(i / 254)}.${1 + (i % 254)}`;
    if (!taken.has(address)) return address;
  }
  throw new BanyanError('Invalid', 'no cluster address is free; delete a Service');
}

function services(space: ControlledSpace): ServiceSpec[] {
  const stored = space.storage.scan({ group: '', resource: 'services' });
  return stored.map((one) => (space.parse(one).spec ?? {}) as ServiceSpec);
}
