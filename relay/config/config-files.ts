/**
 * The files that a node's configuration names. They must be readable when the node starts. Later they may change or be absent: the node goes on with
 * the contents that it has read.
 */
import { auditPolicyOf } from '../../core/audit/open-audit.ts';
import { tokenKeysOf } from '../../core/authentication/token-key.ts';
import { certificatesIn } from '../../core/identity/pem-certificates.ts';
import { readBytes } from '../../core/runtime/config-file.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { SchemaProblem } from '../../core/runtime/schema-problems.ts';
import type { NodeConfig } from './config.ts';

/** Returns the problems of the files, each at its field. */
export function unreadableFiles({ pki, link, audit, frontProxy }: NodeConfig): SchemaProblem[] {
  // A center that makes its own authority names no file of a key.
  const { users, tokenKeys } = 'tree' in pki ? {} : pki;
  const files: Readonly<Record<string, string | undefined>> = {
    // The file of a join token is read when the relay needs it: after it has joined, it continues without the token.
    ...(!('cert' in pki)
      ? {}
      : {
          'pki.ca': pki.ca,
          'pki.cert': pki.cert,
          'pki.key': pki.key,
          'pki.issuer.cert': pki.issuer?.cert,
          'pki.issuer.key': pki.issuer?.key,
          'pki.subtreeIssuer.cert': pki.subtreeIssuer?.cert,
          'pki.subtreeIssuer.key': pki.subtreeIssuer?.key,
        }),
    'pki.users.ca': users?.ca,
    'pki.users.signer.cert': users?.signer?.cert,
    'pki.users.signer.key': users?.signer?.key,
    'frontProxy.clientCA': frontProxy?.clientCA,
    'pki.tokenKeys': tokenKeys,
    'link.ca': link.ca,
    'audit.policyFile': audit?.policyFile,
  };
  const wrong = Object.entries(files).flatMap(([field, file]) => {
    try {
      if (file !== undefined && field === 'audit.policyFile') auditPolicyOf({ policyFile: file });
      else if (file !== undefined && field === 'pki.tokenKeys') checkTokenKeys(file);
      else if (file !== undefined) readBytes(file);
      return [];
    } catch (error) {
      return [{ path: field.split('.'), message: describeError(error) }];
    }
  });
  return wrong.length > 0 ? wrong : sharedAuthority({ pki, frontProxy });
}

/** Throws BadRequest. The keys must be good at the start: otherwise the first person who asks for a token would find the mistake. */
function checkTokenKeys(file: string): void {
  const pem = readBytes(file).toString('latin1');
  try {
    tokenKeysOf(pem);
  } catch (error) {
    throw new BanyanError('BadRequest', `${file}: ${describeError(error)}`);
  }
}

/** Without names, every certificate of the file's authorities is of a proxy. A user or a node with such a certificate could be anybody. */
function sharedAuthority({ pki, frontProxy }: Pick<NodeConfig, 'pki' | 'frontProxy'>): SchemaProblem[] {
  if (!frontProxy || frontProxy.allowedNames.length > 0) return [];
  const fingerprints = (file: string) => certificatesIn(readBytes(file)).map(({ fingerprint256 }) => fingerprint256);
  const ofProxies = new Set(fingerprints(frontProxy.clientCA));
  return Object.entries({
    'pki.ca': 'ca' in pki ? pki.ca : undefined,
    'pki.users.ca': 'users' in pki ? pki.users?.ca : undefined,
  }).flatMap(([field, file]) => {
    if (file === undefined || !fingerprints(file).some((one) => ofProxies.has(one))) return [];
    const remedy = 'take an authority that signs only proxies, or name the proxies in frontProxy.allowedNames';
    const message = `${frontProxy.clientCA} has an authority of ${field} (${file}): ${remedy}`;
    return [{ path: ['frontProxy', 'clientCA'], message }];
  });
}
