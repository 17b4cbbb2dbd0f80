/** A link of which one side's first message is sealed on its way, and whose peer is known. */
import type { Frame } from '../generated/mesh.ts';
import type { Link, PeerIdentity } from '../link.ts';

export class PassedLink implements Link {
  readonly peer: PeerIdentity;
  readonly transport: string;
  readonly openStream?: NonNullable<Link['openStream']>;
  readonly #link: Link;
  readonly #outgoing: (frame: Frame) => Frame;

  constructor(link: Link, peer: PeerIdentity, outgoing: (frame: Frame) => Frame) {
    this.#link = link;
    this.peer = peer;
    this.transport = `${link.transport}+terminated`;
    this.#outgoing = outgoing;
    if (link.openStream) this.openStream = link.openStream.bind(link);
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
