import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';

/** PEM: the trusted authorities, and the node's own certificate and key. */
export interface NodeCredentials {
  readonly caPem: Buffer;
  readonly certPem: Buffer;
  readonly keyPem: Buffer;
  /** The present credentials: the same object while nothing has changed. Absent: they are never renewed. */
  renewed?(): NodeCredentials;
}

export interface CredentialReloadPorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Reads all three files. May throw. */
  read(): Pick<NodeCredentials, 'caPem' | 'certPem' | 'keyPem'>;
}

/** The files are read at most this often, however many children connect: a storm has hundreds of connections a second. */
const readEveryMs = 1_000;

/**
 * Throws what the first `read` throws. If later files can't be used, the former ones stay in use, since a half-written renewal will be complete in a moment.
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
      // Logs each reason once, because every connection may read the files again.
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

/** Caches a value that is expensive to make from credentials. Makes it again only when the credentials have changed. */
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
 * Files are renewed one after the other, and may be read while one is being written. From a half-written file of authorities, TLS would take the complete
 * certificates only, or none.
 */
function checkWhole({ caPem, certPem, keyPem }: ReturnType<CredentialReloadPorts['read']>): void {
  if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem)))
    throw new Error('the key is not the one of the certificate');
  const [begun, ended] = ['BEGIN', 'END'].map((edge) => caPem.toString('latin1').split(`-----${edge} `).length - 1);
  if (begun === 0 || begun !== ended) throw new Error('the file of authorities is not whole');
  createSecureContext({ ca: caPem, cert: certPem, key: keyPem });
}
