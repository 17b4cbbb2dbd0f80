/**
 * Texts for people at the site: what they can do if the agent can't use the API server. A text follows the message of the system, which names the problem and
 * no remedy.
 */

const unusable =
  'a certificate or key of the agent is invalid, or the two do not belong together: correct the kubeconfig';

/** Keyed by the codes of https://nodejs.org/api/errors.html#common-system-errors and https://nodejs.org/api/tls.html#x509-certificate-error-codes. */
const remedies: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start the API server, or correct the address in the kubeconfig',
  ENOTFOUND: 'the name is not known: correct the address in the kubeconfig, or look at the DNS of this machine',
  EAI_AGAIN: 'the name can not be looked up now: look at the DNS of this machine',
  EHOSTUNREACH: 'there is no way to it: look at the network of this machine, or correct the address in the kubeconfig',
  ENETUNREACH: 'there is no way to it: look at the network of this machine',
  ETIMEDOUT: 'it does not answer: look at the network and at firewalls on the way',
  CERT_HAS_EXPIRED: 'the certificate of the API server has expired: renew it, or set the clock of this machine',
  CERT_NOT_YET_VALID: 'the certificate of the API server is not valid yet: set the clock of this machine',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the kubeconfig trusts another authority: it may belong to another cluster, or the cluster was set up again',
  SELF_SIGNED_CERT_IN_CHAIN:
    'the kubeconfig trusts another authority: it may belong to another cluster, or the cluster was set up again',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'the kubeconfig does not trust the certificate of the API server: name its authority there',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate is for another name: correct the address in the kubeconfig, or add tls-server-name to it',
  ERR_OSSL_PEM_NO_START_LINE: unusable,
  ERR_OSSL_ASN1_WRONG_TAG: unusable,
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: unusable,
};

/** Returns the remedy. Empty: no remedy is known. */
export function remedyOf(error: unknown): string {
  const code = codeOf(error);
  return code !== undefined && Object.hasOwn(remedies, code) ? (remedies[code] ?? '') : '';
}

/** The remedy after an answer 401. The server gives no reason with a 401. */
export const refusedCredentials =
  'the cluster does not accept the credentials of the agent: they have expired or were withdrawn; renew those of its service account or kubeconfig';

/** The code of an error. If the error consists of the errors of several attempts, the code of the first. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
