import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';

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

/** Minimal interval between two reads of the files, however many children connect: hundreds of connections per second are possible. */
const readEveryMs = 1_000;

/**
 * Reads credentials again when their files change. Throws the error of the first `read`. If new files can't be used, keeps the old credentials, because a
 * half-written renewal is usually complete a moment later.
 */
export function renewedCredentials({ clock, log, read }: CredentialReloadPorts): NodeCredentials {
  let readAtMs = clock.monotonicMs();
  let lastReason = '';
  const withRenewal = (found: ReturnType<CredentialReloadPorts['read']>): NodeCredentials => ({ ...found, renewed });
  const reload = () => {
    try {
      const found = read();
      if (same(found, current)) return;
      checkWhole(found);
      current = withRenewal(found);
      lastReason = '';
      log.info({}, 'renewed certificate files are used from now on');
    } catch (error) {
      // Logs each reason only once, because every connection may read the files again.
      const reason = describeError(error);
      if (reason === lastReason) return;
      lastReason = reason;
      log.warn({ reason }, 'the certificate files cannot be used: the files that were read before stay in use');
    }
  };
  const renewed = () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - readAtMs >= readEveryMs) {
      readAtMs = nowMs;
      reload();
    }
    return current;
  };
  let current = withRenewal(read());
  return current;
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
  const [begun, ended] = ['BEGIN', 'END'].map((edge) => caPem.toString('latin1').split(`-----${edge} `).length - 1);
  if (begun === 0 || begun !== ended) throw new Error('the file of authorities is not whole');
  createSecureContext({ ca: caPem, cert: certPem, key: keyPem });
}
