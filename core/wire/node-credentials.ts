import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { reloaded } from '../runtime/reloaded-files.ts';

/** The trusted authorities, and the node's own certificate and key, as PEM. */
export interface NodeCredentials {
  readonly caPem: Buffer;
  readonly certPem: Buffer;
  readonly keyPem: Buffer;
  /** The present credentials. Returns the same object as long as nothing has changed. Absent: the credentials are never renewed. */
  renewed?(): NodeCredentials;
}

export interface CredentialReloadPorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads all three files. May throw. */
  read(): Pick<NodeCredentials, 'caPem' | 'certPem' | 'keyPem'>;
}

/**
 * Reads credentials again when their files change. Throws the error of the first `read`. If new files can't be used, keeps the old credentials.
 */
export function renewedCredentials({ clock, log, read }: CredentialReloadPorts): NodeCredentials {
  const renewed: () => NodeCredentials = reloaded<NodeCredentials>({
    clock,
    log,
    read: () => ({ ...read(), renewed: () => renewed() }),
    same,
    check: checkWhole,
    files: 'certificate files',
  });
  return renewed();
}

/** Caches a value that is expensive to make from credentials. Makes the value again only after the credentials have changed. */
export function perCredentials<T>(credentials: NodeCredentials, make: (current: NodeCredentials) => T): () => T {
  let source = credentials;
  let value = make(source);
  return () => {
    const current = currentOf(source);
    if (current === source) return value;
    value = make(current);
    source = current;
    return value;
  };
}

export function currentOf(credentials: NodeCredentials): NodeCredentials {
  return credentials.renewed?.() ?? credentials;
}

function same(a: ReturnType<CredentialReloadPorts['read']>, b: NodeCredentials): boolean {
  return a.caPem.equals(b.caPem) && a.certPem.equals(b.certPem) && a.keyPem.equals(b.keyPem);
}

/**
 * Throws if a file is incomplete. Files are renewed one after the other, and this code may read a file while it is being written. From a half-written file
 * of authorities, TLS would use only the complete certificates, or none.
 */
function checkWhole({ caPem, certPem, keyPem }: ReturnType<CredentialReloadPorts['read']>): void {
  if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem)))
    throw new Error('the key is not the one of the certificate');
  checkAuthorities(caPem);
  createSecureContext({ ca: caPem, cert: certPem, key: keyPem });
}

/** Reads a file of authorities again when it changes. Throws if the first content can't be used. */
export function renewedAuthorities(ports: {
  readonly clock: Clock;
  readonly log: Logger;
  read(): Buffer;
}): () => Buffer {
  const present = reloaded<Buffer>({
    ...ports,
    same: (a, b) => a.equals(b),
    check: checkAuthorities,
    files: 'files of authorities',
  });
  checkAuthorities(present());
  return present;
}

function checkAuthorities(caPem: Buffer): void {
  const [begun, ended] = ['BEGIN', 'END'].map((edge) => caPem.toString('latin1').split(`-----${edge} `).length - 1);
  if (begun === 0 || begun !== ended) throw new Error('the file of authorities is not whole');
  createSecureContext({ ca: caPem });
}
