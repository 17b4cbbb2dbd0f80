/** The authorities of a node whose tree never changes them. */
import type { CertificateRenewalPorts, Renewable } from '../../core/wire/join/renewal.ts';

export function settledTrust(renewable: Pick<Renewable, 'credentials'>): CertificateRenewalPorts['trust'] {
  return {
    isOutdated: () => false,
    onChange: () => {},
    get credentials() {
      return renewable.credentials();
    },
  };
}
