/** The retail tree with the same way on every link: through a proxy, over another transport, or through a gateway that terminates TLS. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { freePorts } from './free-ports.ts';
import type { RealProxies } from './real-proxies.ts';
import { TestTree } from './test-tree.ts';

interface Member {
  readonly name: string;
  readonly parent?: string;
}
interface Retail {
  spec: { center: object; relays: Member[]; clusters: Member[] };
}
interface Listening {
  readonly meshPort: number;
  readonly terminatedTls?: boolean;
}

const file = join(import.meta.dirname, '../../deploy/topologies/shop.yaml');

/** The paths of the nodes that have children. */
export const parents = ['', 'eu', 'us', 'eu:paris', 'eu:berlin'] as const;

/** The port of each parent, and a second port in front of it. */
export interface Fronts {
  readonly parent: string;
  readonly meshPort: number;
  readonly front: number;
}

export async function frontsOfParents(): Promise<Fronts[]> {
  const ports = await freePorts(2 * parents.length);
  return parents.map((parent, i) => ({ parent, meshPort: ports[2 * i]!, front: ports[2 * i + 1]! }));
}

/** Returns the topology as text. `link`: a child's options for its link to this parent. `listen`: the parent's address, if the test needs a given one. */
export function retailTopology(
  link: (parent: string) => object,
  listen: (path: string) => Listening | undefined = () => undefined,
): string {
  const retail = parse(readFileSync(file, 'utf8')) as Retail;
  const { spec } = retail;
  const listening = (path: string) => {
    const where = listen(path);
    return where ? { listen: where } : {};
  };
  const pathOf = ({ name, parent }: Member) => (parent ? `${parent}:${name}` : name);
  spec.center = { ...spec.center, ...listening('') };
  spec.relays = spec.relays.map((one) => ({ ...one, ...listening(pathOf(one)), link: link(one.parent ?? '') }));
  spec.clusters = spec.clusters.map((one) => ({ ...one, link: link(one.parent ?? '') }));
  return JSON.stringify(retail);
}

/** Files of a gateway. The authority of the gateway is not the authority of the tree. */
export interface Gateway {
  readonly cert: string;
  readonly key: string;
  /** Certificate and key in one file, as haproxy needs them. */
  readonly pair: string;
  readonly ca: string;
}

export async function gatewayFiles(proxies: RealProxies): Promise<Gateway> {
  const { certPem, keyPem, caPem } = await (await TestTree.create('gateway')).credentials('gateway', 'relay');
  return {
    cert: proxies.write('gateway.crt', certPem.toString()),
    key: proxies.write('gateway.key', keyPem.toString()),
    pair: proxies.write('gateway.pem', `${certPem.toString()}\n${keyPem.toString()}`),
    ca: proxies.write('gateway-ca.crt', caPem.toString()),
  };
}
