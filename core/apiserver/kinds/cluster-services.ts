/** Gives addresses and node ports to the Services of an embedded cluster. They depend on the other Services of the cluster. */
import { parseBody } from '../../object/canonical.ts';
import { formatKey, type GroupResource } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { ServiceRoom } from '../space.ts';
import type { SpaceStorage, StoredObject } from '../storage.ts';
import { giveFamilies } from './shown-address.ts';

interface ServiceSpec {
  type?: string;
  clusterIP?: string;
  clusterIPs?: string[];
  ports?: { nodePort?: number }[];
  [field: string]: unknown;
}

const services: GroupResource = { group: '', resource: 'services' };
/** Number of Service addresses: 10.96.0.0/16 without its first address, which would be the API server's, and without addresses that end with .0 or .255. */
const addressesMax = 256 * 254 - 1;
/** First port of the usual range of node ports. */
const firstNodePort = 30_000;
const nodePortsMax = 2_768;

export function isService({ group, resource }: GroupResource): boolean {
  return group === services.group && resource === services.resource;
}

/** The addresses and node ports that the Services of a storage have. Each Service is parsed once for each change. */
export class ClusterServices {
  readonly #specs = new Map<string, Pick<ServiceSpec, 'clusterIP' | 'ports'>>();
  readonly #unsubscribe: () => void;

  constructor(storage: SpaceStorage) {
    for (const stored of storage.scan(services)) this.#put(stored);
    this.#unsubscribe = storage.subscribe((events) => {
      for (const { type, object } of events) {
        if (!isService(object.key)) continue;
        if (type === 'DELETED') this.#specs.delete(formatKey(object.key));
        else this.#put(object);
      }
    });
  }

  close(): void {
    this.#unsubscribe();
  }

  room(): ServiceRoom {
    const specs = [...this.#specs.values()];
    const address = freeAddress(new Set(specs.map(({ clusterIP }) => clusterIP)));
    const nodePorts = specs.flatMap(({ ports = [] }) => ports.flatMap(({ nodePort }) => nodePort ?? []));
    return { ...(address === undefined ? {} : { address }), nodePorts };
  }

  #put({ key, body }: StoredObject): void {
    const { clusterIP, ports = [] } = (parseBody(body).spec ?? {}) as ServiceSpec;
    const used = ports
      .filter(({ nodePort }) => nodePort !== undefined)
      .map(({ nodePort }) => ({ nodePort: nodePort! }));
    this.#specs.set(formatKey(key), { ...(clusterIP === undefined ? {} : { clusterIP }), ports: used });
  }
}

/** Gives the Service an address. A Service keeps its address: if an update has no address, the Service gets its old address again. */
export function completeService(service: KubeObject, old: KubeObject | undefined, room: ServiceRoom): void {
  const spec = (service.spec ?? {}) as ServiceSpec;
  if (spec.type === 'ExternalName') return;
  const before = old?.spec as ServiceSpec | undefined;
  if (!spec.clusterIP) {
    const kept = before?.type === 'ExternalName' ? undefined : before?.clusterIP;
    const given = kept || room.address;
    if (!given) throw new BanyanError('Invalid', 'no cluster address is free; delete a Service');
    spec.clusterIP = given;
  }
  spec.clusterIPs = [spec.clusterIP];
  giveFamilies(spec);
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') givePorts(spec, before, room);
  service.spec = spec;
}

function givePorts(spec: ServiceSpec, before: ServiceSpec | undefined, { nodePorts }: ServiceRoom): void {
  const used = new Set(nodePorts);
  let candidate = firstNodePort;
  for (const [index, port] of (spec.ports ?? []).entries()) {
    if (port.nodePort) continue;
    while (used.has(candidate)) candidate++;
    const kept = before?.ports?.[index]?.nodePort;
    if (kept === undefined && candidate >= firstNodePort + nodePortsMax)
      throw new BanyanError('Invalid', 'no node port is free; delete a Service of type NodePort');
    port.nodePort = kept ?? candidate;
    used.add(port.nodePort);
  }
}

function freeAddress(taken: ReadonlySet<string | undefined>): string | undefined {
  for (let i = 1; i <= addressesMax; i++) {
    const address = `10.96.${Math.floor(i / 254)}.${1 + (i % 254)}`;
    if (!taken.has(address)) return address;
  }
  return undefined;
}
