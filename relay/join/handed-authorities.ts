/**
 * The authorities of nodes that a node hands down. The parent says which authorities count; the node itself says with which of them it signs now, so that each
 * level renews its certificates after the level above.
 */
import type { AuthoritiesAttributes } from '../../core/entries/down-attributes.ts';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import type { TreeTrust } from '../../core/wire/tree-trust.ts';
import type { CertificateSigner } from './signer.ts';

export interface HandedAuthoritiesPorts {
  readonly trust: Pick<TreeTrust, 'handedDown' | 'onChange'>;
  readonly signer?: Pick<CertificateSigner, 'chains'> | undefined;
  readonly clock: Clock;
  /** Called when the children have to receive something else, and when the node trusts other authorities. */
  changed(): void;
}

/** How often the node looks whether somebody has put an issuer of another authority in place. People who do so can wait as long. */
const lookEveryMs = 30_000;

export class HandedAuthorities {
  readonly #ports: HandedAuthoritiesPorts;
  #present: AuthoritiesAttributes | undefined;
  #timer: Timer | undefined;

  constructor(ports: HandedAuthoritiesPorts) {
    this.#ports = ports;
    this.#present = this.#read();
    ports.trust.onChange(() => {
      this.#present = this.#read();
      ports.changed();
    });
  }

  present(): AuthoritiesAttributes | undefined {
    return this.#present;
  }

  start(): void {
    this.#timer = this.#ports.clock.after(lookEveryMs, () => {
      this.look();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.stop();
  }

  /** Call it when the node may sign with another authority than before. */
  look(): void {
    const before = this.#present;
    this.#present = this.#read();
    if (before?.signsWith !== this.#present?.signsWith || before?.bundle !== this.#present?.bundle)
      this.#ports.changed();
  }

  #read(): AuthoritiesAttributes | undefined {
    return this.#ports.trust.handedDown(this.#ports.signer?.chains() ?? []);
  }
}
