/** The hosts for which the certificate of a server is good. */
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** The hosts, DNS names or IP addresses, that the certificate lacks. */
export function hostsMissing(certificate: X509Certificate, hosts: readonly string[]): string[] {
  return hosts.filter(
    (host) => (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) === undefined,
  );
}
