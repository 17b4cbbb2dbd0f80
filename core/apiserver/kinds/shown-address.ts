/**
 * The address that a workload space gives to a Service: helm 3 waits until a Service has one. The address does not travel, as the defaults do not: each cluster gives
 * its own.
 */
import { isIP } from 'node:net';
import { hash128 } from '../../object/hash.ts';
import { formatGroupResource } from '../../object/key.ts';
import type { Filling } from '../space.ts';

interface Families {
  clusterIP?: string | undefined;
  selector?: Readonly<Record<string, string>>;
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
}

interface ServiceSpec extends Families {
  type?: string;
  clusterIPs?: string[];
}

/** Depends on nothing but its arguments, so the thread for long bodies can run it too. */
export const shownAddresses: Pick<Filling, 'drop' | 'fill'> = {
  drop(key, object) {
    const spec = object.spec as ServiceSpec | undefined;
    if (formatGroupResource(key) !== 'services' || !isShownAddress(spec?.clusterIP)) return;
    delete spec!.clusterIP;
    delete spec!.clusterIPs;
  },
  fill(key, object) {
    if (formatGroupResource(key) !== 'services') return;
    const spec = object.spec as ServiceSpec;
    if (spec.type === 'ExternalName') return;
    const { ipFamilies: families = ['IPv4'], ipFamilyPolicy: policy = 'SingleStack' } = spec;
    // A list without its first address is a mistake, and validation says so.
    if (!spec.clusterIPs?.length) spec.clusterIP ||= shownAddress(key.namespace, key.name, families[0]);
    // The space shows one address, also where a cluster gives two.
    if (!spec.clusterIP || (spec.clusterIP !== 'None' && (families.length > 1 || policy !== 'SingleStack'))) return;
    spec.clusterIPs ??= [spec.clusterIP];
    giveFamilies(spec);
  },
};

/** The families of the addresses of a Service with an address. A Service without selector and address may have endpoints of both families. */
export function giveFamilies(spec: Families): void {
  const version = isIP(spec.clusterIP ?? '');
  if (version === 0 && spec.clusterIP !== 'None') return;
  const isOpen = version === 0 && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= isOpen ? 'RequireDualStack' : 'SingleStack';
  spec.ipFamilies ??= isOpen ? ['IPv4', 'IPv6'] : [version === 6 ? 'IPv6' : 'IPv4'];
}

/**
 * The address of a Service in its space. No traffic reaches it: 240.0.0.0/4 is reserved and 100::/64 is for packets to drop (RFC 6666), so no cluster uses them. Two
 * Services may have the same one, which does no harm. Undefined: there is no such family.
 */
function shownAddress(namespace: string, name: string, family: string | undefined): string | undefined {
  const [a = 0, b = 0, c = 0, d = 0] = hash128(`${namespace}/${name}`);
  if (family === 'IPv4') return `${240 + (a % 15)}.${b}.${c}.${d}`;
  return family === 'IPv6' ? `100::${(a + 1).toString(16)}:${(b + 1).toString(16)}` : undefined;
}

function isShownAddress(value: unknown): boolean {
  return typeof value === 'string' && /^((?:24\d|25[0-4])\.\d+\.\d+\.\d+|100::[\da-f]+:[\da-f]+)$/.test(value);
}
