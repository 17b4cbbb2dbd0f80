/**
 * The link that the session gets after the challenge, and the links of its streams. They have the proven peer. Each outgoing frame goes through `outgoing`,
 * which seals the Hello or Welcome.
 */
import type { Expiry } from '../../identity/expiry.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import type { Frame } from '../generated/mesh.ts';
import type { Link } from '../link.ts';

export class PassedLink implements Link {
  readonly transport: string;
  readonly openStream?: NonNullable<Link['openStream']>;
  readonly #link: Link;
  readonly #outgoing: (frame: Frame) => Frame;
  readonly #peer: () => PeerIdentity;
  readonly #expiry: () => Expiry | undefined;

  constructor(
    link: Link,
    peer: () => PeerIdentity,
    outgoing: (frame: Frame) => Frame,
    expiry: () => Expiry | undefined = () => undefined,
  ) {
    this.#expiry = expiry;
    this.#link = link;
    this.#peer = peer;
    this.transport = `${link.transport}+terminated`;
    this.#outgoing = outgoing;
    if (link.openStream) this.openStream = link.openStream.bind(link);
  }

  /** At the child: the expected parent until the Welcome has arrived, and then the parent with its certificate. */
  get peer(): PeerIdentity {
    return this.#peer();
  }

  /** The expiry of the certificates in the proof. The certificates of the gateway that terminates TLS do not matter. */
  get expiry(): Expiry | undefined {
    return this.#expiry();
  }

  send(frame: Frame): boolean {
    return this.#link.send(this.#outgoing(frame));
  }

  close(reason: string): void {
    this.#link.close(reason);
  }

  queuedBytes(): number {
    return this.#link.queuedBytes();
  }
}
