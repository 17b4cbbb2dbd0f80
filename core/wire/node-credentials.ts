import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../runtime/clock.ts';
import { describeError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';

/** PEM: the authority that is trusted, and the node's own certificate and key. */
export interface NodeCredentials {
  readonly caPem: Buffer;
  readonly certPem: Buffer;
  readonly keyPem: Buffer;
  /** What they are by now, the same object while they are the same; absent: they are never renewed. */
  renewed?(): NodeCredentials;
}

export interface CredentialReloadPorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** The three files, all of them; may throw. */
  read(): Pick<NodeCredentials, 'caPem' | 'certPem' | 'keyPem'>;
}

/** Files are looked at no more often, however many connect: a storm is hundreds a second. */
const lookEveryMs = 1_000;

/** Throws what `read` throws at first. Files that can't be used later leave what was there, since a half-written renewal is soon whole. */
export function renewedCredentials({ clock, log, read }: CredentialReloadPorts): NodeCredentials {
  let lookedAtMs = clock.monotonicMs();
  let complaint = '';
  const withRenewal = (found: ReturnType<CredentialReloadPorts['read']>): NodeCredentials => ({ ...found, renewed });
  const look = () => {
    try {
      const found = read();
      if (same(found, current)) return;
      checkWhole(found);
      current = withRenewal(found);
      complaint = '';
      log.info({}, 'renewed certificate files are used from now on');
    } catch (error) {
      // Once each: it is looked at again with every connection.
      const reason = describeError(error);
      if (reason === complaint) return;
      complaint = reason;
      log.warn({ reason }, 'the certificate files can not be used: those that were read before stay in use');
    }
  };
  const renewed = () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - lookedAtMs >= lookEveryMs) {
      lookedAtMs = nowMs;
      look();
    }
    return current;
  };
  let current = withRenewal(read());
  return current;
}

/** For what is made of credentials, at some cost: made anew only when they are others. */
export function perCredentials<T>(credentials: NodeCredentials, make: (current: NodeCredentials) => T): () => T {
  let of = credentials;
  let made = make(of);
  return () => {
    const current = currentOf(of);
    if (current === of) return made;
    made = make(current);
    of = current;
    return made;
  };
}

export function currentOf(credentials: NodeCredentials): NodeCredentials {
  return credentials.renewed?.() ?? credentials;
}

function same(a: ReturnType<CredentialReloadPorts['read']>, b: NodeCredentials): boolean {
  return a.caPem.equals(b.caPem) && a.certPem.equals(b.certPem) && a.keyPem.equals(b.keyPem);
}

/** Files are renewed one after the other, and may be looked at while one is written: of authorities TLS would take as many as are whole, or none. */
function checkWhole({ caPem, certPem, keyPem }: ReturnType<CredentialReloadPorts['read']>): void {
  if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem)))
    throw new Error('the key is not the one of the certificate');
  const [begun, ended] = ['BEGIN', 'END'].map((edge) => caPem.toString('latin1').split(`-----${edge} `).length - 1);
  if (begun === 0 || begun !== ended) throw new Error('the file of authorities is not whole');
  createSecureContext({ ca: caPem, cert: certPem, key: keyPem });
}
