/**
 * An identity in files that the agent was given. They stay what counts, whoever writes them: a certificate that the agent gets from its parent takes the place of
 * the older one there, or in the Secret that they come from. What is trusted and the key are left as they were given.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import { currentOf, type NodeCredentials } from '../../core/wire/node-credentials.ts';
import type { Identity, IdentityStore } from './identity-store.ts';
import { type JoiningPorts, validIdentity } from './joining.ts';
import type { Renewable } from './renewal.ts';

export interface GivenIdentityPorts extends Pick<JoiningPorts, 'path' | 'clock'> {
  /** The file of the certificate. */
  readonly certFile: string;
  /** Of the files, read anew when they change. */
  readonly files: NodeCredentials;
  /** The Secret that the files are mounted from. */
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

  /** What a parent signs is for an agent that asks, and not for a server under a host name, such as the API of an embedded cluster. */
  isRenewable(): boolean {
    const { subjectAltName = '' } = new X509Certificate(this.credentials().certPem);
    return subjectAltName.split(', ').every((name) => name.startsWith('URI:'));
  }

  /** What is in the Secret comes with the files a minute later. */
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
      throw new BanyanError('Forbidden', `pki.cert: ${certFile} is a link, which somebody else keeps: ${remedy}`);
    }
    try {
      accessSync(dirname(certFile), constants.W_OK);
    } catch (cause) {
      const words = `pki.cert: another certificate can't be kept in ${certFile} (${describeError(cause)}): ${remedy}`;
      throw new BanyanError('Forbidden', words, {}, { cause });
    }
  }

  async keep({ certPem }: Identity): Promise<void> {
    const { certFile, secret } = this.#ports;
    if (secret) return secret.keep({ ...this.present(), certPem });
    writeWhole(certFile, certPem, { mode: statSync(certFile).mode & 0o777 });
  }
}
