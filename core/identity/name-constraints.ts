/**
 * The name constraints of a subtree's issuer (RFC 5280, section 4.2.1.10), for verifiers that know nothing of Banyan: the clients of the APIs. Everything below
 * the issuer has `subtreeUnit` in its name, so nothing below counts as a user or as an authority of another kind, and servers have only these hosts.
 *
 * There is no constraint for the paths of nodes: for a URI, constraints look at the host alone, which is the same for the whole tree. The extension is not
 * critical, because Go (kubectl) does not know constraints of names of this kind, and would refuse the whole certificate. OpenSSL checks them in both cases.
 */
import { isIP } from 'node:net';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  AttributeTypeAndValue,
  AttributeValue,
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_nameConstraints,
  Name,
  NameConstraints,
  RelativeDistinguishedName,
} from '@peculiar/asn1-x509';
import { subtreeUnit } from './issuer-name.ts';

export const nameConstraintsOid = id_ce_nameConstraints;

/** The attribute OU of a name. */
const organizationalUnit = '2.5.4.11';
const noDns = [new GeneralName({ dNSName: '' })];
const noIps = ['0.0.0.0/0', '::/0'].map((iPAddress) => new GeneralName({ iPAddress }));

/** Everything that may be a host of a server below an issuer: DNS names, each with all names below it, and IP addresses; or any host. */
export type PermittedHosts = readonly string[] | 'any';

export function nameConstraints(permitted: PermittedHosts): ArrayBuffer {
  if (permitted === 'any') {
    return AsnConvert.serialize(new NameConstraints({ permittedSubtrees: subtrees([unitName()]) }));
  }
  const hosts = permitted;
  const dns = hosts.filter((host) => isIP(host) === 0).map((dNSName) => new GeneralName({ dNSName }));
  const ips = hosts.filter((host) => isIP(host) !== 0).map((host) => new GeneralName({ iPAddress: onlyAddress(host) }));
  // Without a permitted name of its kind, every name of the kind would be permitted.
  const excluded = [...(dns.length === 0 ? noDns : []), ...(ips.length === 0 ? noIps : [])];
  return AsnConvert.serialize(
    new NameConstraints({
      permittedSubtrees: subtrees([unitName(), ...dns, ...ips]),
      ...(excluded.length > 0 ? { excludedSubtrees: subtrees(excluded) } : {}),
    }),
  );
}

/** The hosts that the constraints do not permit. `constraints`: as `nameConstraints` has made them. */
export function notPermittedHosts(constraints: ArrayBuffer, hosts: readonly string[]): string[] {
  const { permittedSubtrees = [], excludedSubtrees } = AsnConvert.parse(constraints, NameConstraints);
  const permitted = [...permittedSubtrees].map(({ base }) => base);
  const isPermitted = (host: string) =>
    isIP(host) === 0
      ? permitted.some(({ dNSName }) => dNSName !== undefined && (host === dNSName || host.endsWith(`.${dNSName}`)))
      : permitted.some(({ iPAddress }) => iPAddress === onlyAddress(host));
  // A kind of names that nothing permits is excluded, unless any host is permitted.
  const isAny = !excludedSubtrees && permitted.every(({ dNSName, iPAddress }) => (dNSName ?? iPAddress) === undefined);
  return isAny ? [] : hosts.filter((host) => !isPermitted(host));
}

function subtrees(names: readonly GeneralName[]): GeneralSubtrees {
  return new GeneralSubtrees(names.map((base) => new GeneralSubtree({ base })));
}

function unitName(): GeneralName {
  const unit = new AttributeTypeAndValue({
    type: organizationalUnit,
    value: new AttributeValue({ utf8String: subtreeUnit }),
  });
  return new GeneralName({ directoryName: new Name([new RelativeDistinguishedName([unit])]) });
}

/** The range with this address alone, in the form in which the library shows ranges. The parser of URLs writes each IPv6 address in one form. */
function onlyAddress(host: string): string {
  return isIP(host) === 4 ? `${host}/32` : `${new URL(`http://[${host}]`).hostname.slice(1, -1)}/128`;
}
