/** The hosts for which the certificate of a server is good. */
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/** The hosts for which the authority of a relay may not sign, with the certificate of this relay. A DNS name includes the names below it. */
export function hostsNotCovered(certificate: X509Certificate, hosts: readonly string[]): string[] {
  const wider = (host: string) => {
    const labels = host.split('.');
    return labels.map((_, i) => labels.slice(i).join('.'));
  };
  return hosts.filter((host) => {
    const names = isIP(host) === 0 ? wider(host) : [host];
    return names.every((name) => hostsMissing(certificate, [name]).length > 0);
  });
}

/** The hosts, DNS names or IP addresses, that the certificate lacks. */
export function hostsMissing(certificate: X509Certificate, hosts: readonly string[]): string[] {
  return hosts.filter(
    (host) => (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) === undefined,
  );
}
