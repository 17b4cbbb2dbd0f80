/**
 * An identity in files that the agent was given. Others may write the files too, and the agent always uses their content. When the parent renews the
 * certificate, the agent replaces the old certificate in its file, or in the Secret from which the files are mounted. The trusted authority and the key do
 * not change.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { Identity, IdentityStore } from '../../core/wire/join/identity-store.ts';
import { type JoiningPorts, validIdentity } from '../../core/wire/join/joining.ts';
import type { Renewable } from '../../core/wire/join/renewal.ts';
import { currentOf, type NodeCredentials } from '../../core/wire/node-credentials.ts';

export interface GivenIdentityPorts extends Pick<JoiningPorts, 'path' | 'clock'> {
  /** The file of the certificate. */
  readonly certFile: string;
  /** The content of the files. The agent reads the files again when they change. */
  readonly files: NodeCredentials;
  /** The Secret from which the files are mounted. */
  readonly secret?: IdentityStore | undefined;
}

export class GivenIdentity implements Renewable {
  readonly #ports: GivenIdentityPorts;

  constructor(ports: GivenIdentityPorts) {
    this.#ports = ports;
  }

  get shown(): string {
    return this.#ports.secret?.shown ?? this.#ports.certFile;
  }

  present(): Identity {
    const { caPem, certPem, keyPem } = this.credentials();
    return { caPem: caPem.toString(), certPem: certPem.toString(), keyPem: keyPem.toString() };
  }

  credentials(): NodeCredentials {
    return currentOf(this.#ports.files);
  }

  /**
   * Whether the parent can renew the certificate. A parent signs only certificates of agents, and no certificate with the host name of a server, such as the
   * API of an embedded cluster.
   */
  isRenewable(): boolean {
    const { subjectAltName = '' } = new X509Certificate(this.credentials().certPem);
    return subjectAltName.split(', ').every((name) => name.startsWith('URI:'));
  }

  /** Looks in the Secret: a new content of the Secret appears in the files only about a minute after the write. */
  async foundYoung(isYoung: (identity: Identity) => boolean): Promise<boolean> {
    const { secret, path, clock } = this.#ports;
    const shared = secret && validIdentity(await secret.read(), { path, clock, store: secret });
    return shared !== undefined && isYoung(shared);
  }

  checkRenewable(): void {
    const { certFile, secret } = this.#ports;
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(this.credentials().keyPem);
    const curve = asymmetricKeyDetails?.namedCurve;
    if (curve !== 'prime256v1') {
      const shown = curve ?? asymmetricKeyType;
      throw new BanyanError(
        'Invalid',
        `pki.key: agents ask for certificates of keys of P-256, and this one is ${shown}: renew it where it comes from`,
      );
    }
    if (secret) return;
    const remedy = 'renew it where it comes from, or let the agent write there';
    if (lstatSync(certFile).isSymbolicLink()) {
      throw new BanyanError('Forbidden', `pki.cert: ${certFile} is a link, which somebody else manages: ${remedy}`);
    }
    try {
      accessSync(dirname(certFile), constants.W_OK);
    } catch (cause) {
      const message = `pki.cert: the agent can't write a renewed certificate to ${certFile} (${describeError(cause)}): ${remedy}`;
      throw new BanyanError('Forbidden', message, {}, { cause });
    }
  }

  async keep({ certPem }: Identity): Promise<void> {
    const { certFile, secret } = this.#ports;
    if (secret) return secret.keep({ ...this.present(), certPem });
    writeWhole(certFile, certPem, { mode: statSync(certFile).mode & 0o777 });
  }
}
