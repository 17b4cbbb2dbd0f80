/** An identity that the node got with a join token. If several agents share the store, each finds the certificate that another agent has renewed. */
import type { NodeCredentials } from '../node-credentials.ts';
import type { Identity } from './identity-store.ts';
import { type JoiningPorts, joinOnce, validIdentity } from './joining.ts';
import type { Renewable } from './renewal.ts';

export class JoinedIdentity implements Renewable {
  readonly #ports: JoiningPorts;
  #identity: Identity;
  #credentials: NodeCredentials;

  constructor(ports: JoiningPorts, identity: Identity) {
    this.#ports = ports;
    this.#identity = identity;
    this.#credentials = this.#credentialsOf(identity);
  }

  get shown(): string {
    return this.#ports.store.shown;
  }

  present(): Identity {
    return this.#identity;
  }

  /** The present credentials. They follow each renewal. */
  credentials(): NodeCredentials {
    return this.#credentials;
  }

  isRenewable(): boolean {
    return true;
  }

  async foundYoung(isYoung: (identity: Identity) => boolean): Promise<boolean> {
    const shared = validIdentity(await this.#ports.store.read(), this.#ports);
    if (!shared || !isYoung(shared)) return false;
    this.#use(shared);
    return true;
  }

  checkRenewable(): void {
    // Nothing can be wrong: the node made the key itself, and has stored a certificate at this place before.
  }

  async rejoin(): Promise<void> {
    this.#use(await joinOnce(this.#ports));
  }

  async keep(identity: Identity): Promise<void> {
    await this.#ports.store.keep(identity);
    this.#use(identity);
  }

  #use(identity: Identity): void {
    this.#identity = identity;
    this.#credentials = this.#credentialsOf(identity);
  }

  #credentialsOf({ caPem, certPem, keyPem }: Identity): NodeCredentials {
    const [ca, cert, key] = [caPem, certPem, keyPem].map((pem) => Buffer.from(pem)) as [Buffer, Buffer, Buffer];
    return { caPem: ca, certPem: cert, keyPem: key, renewed: () => this.#credentials };
  }
}
