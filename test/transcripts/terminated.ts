/** TLS is terminated on the way: each side proves its identity, with the product's own code, and the machine in between may change frames. */

import { createAuthority, issueNode, type KeyAndCertificate } from '../../core/identity/authority.ts';
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { type Random, systemRandom } from '../../core/runtime/random.ts';
import { decodeFrame, encodeFrame } from '../../core/wire/codec/frames.ts';
import { FrameLink } from '../../core/wire/frame-link.ts';
import type { Proof, Sealed } from '../../core/wire/generated/mesh.ts';
import type { Accept, Dialer, Link, LinkEvents } from '../../core/wire/link.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import { provingDialer } from '../../core/wire/proof/child-proof.ts';
import { acceptProven } from '../../core/wire/proof/parent-proof.ts';
import { wayTo } from '../support/ways.ts';
import type { Side } from './line.ts';

/** The fault of the next hello: a changed bit, or the former hello in its place. */
export type Meddling = 'changes' | 'repeats';

const tree = 'test';
/** The time that a session allows for a dial. */
const dialWithinMs = 10_000;

export class Terminated {
  meddles: Meddling | undefined;
  readonly #clock: Clock;
  readonly #parentPath: string;
  readonly #note: (line: string) => void;
  readonly #authority: KeyAndCertificate;
  readonly #credentials = new Map<Side, NodeCredentials>();
  #lastHello: Sealed | undefined;

  static async create(clock: Clock, parentPath: string, note: (line: string) => void): Promise<Terminated> {
    const authority = await createAuthority(tree, { clock, random: systemRandom });
    const made = new Terminated(clock, parentPath, note, authority);
    await made.identify('parent', parentPath, 'relay');
    await made.identify('child', `${parentPath}:kid`, 'agent');
    return made;
  }

  private constructor(clock: Clock, parentPath: string, note: (line: string) => void, authority: KeyAndCertificate) {
    this.#clock = clock;
    this.#parentPath = parentPath;
    this.#note = note;
    this.#authority = authority;
  }

  async identify(side: Side, path: string, role: PeerIdentity['role']): Promise<void> {
    const node = { tree, path, role, replica: 0, hosts: [] };
    const { certPem, keyPem } = await issueNode(this.#authority, node, { clock: this.#clock, random: systemRandom });
    const caPem = Buffer.from(this.#authority.certPem);
    this.#credentials.set(side, { caPem, certPem: Buffer.from(certPem), keyPem: Buffer.from(keyPem) });
  }

  dialer(dialer: Dialer, clock: Clock, random: Random): Dialer {
    return {
      dial: (events) => {
        const link = { terminatedTls: true };
        const credentials = this.#credentials.get('child')!;
        const way = wayTo({ address: 'balancer:443', parentPath: this.#parentPath, credentials, clock, link });
        return provingDialer(dialer, way, random).dial(this.#notingRefusals(events), dialWithinMs);
      },
    };
  }

  /** Before a session, nobody else would report why there is none. */
  #notingRefusals(events: LinkEvents): LinkEvents {
    return {
      onFrame: (frame) => events.onFrame(frame),
      onBytes: (count) => events.onBytes(count),
      onDrain: () => events.onDrain(),
      onClose: (error) => {
        if (error instanceof BanyanError && error.code === 'Unauthorized')
          this.#note(`kid: no session: ${error.message}`);
        events.onClose(error);
      },
    };
  }

  /** A link whose child has shown no certificate. */
  accept(accept: Accept, link: Link): LinkEvents {
    const call = {
      write: (bytes: Buffer, taken: () => void) => {
        link.send(decodeFrame(bytes));
        taken();
      },
      end: (reason: string) => link.close(reason),
      abort: ({ message }: Error) => {
        this.#note(`parent: the link is broken off: ${message}`);
        link.close(message);
      },
      bytesRead: () => 0,
    };
    const peer: PeerIdentity = { path: '', role: 'agent' };
    const unproven = new FrameLink({ peer, call, clock: this.#clock, transport: link.transport });
    const credentials = this.#credentials.get('parent')!;
    const refused = (reason: string) => this.#note(`parent: refused and counted: ${reason}`);
    unproven.start(acceptProven(accept, { credentials, clock: this.#clock, random: systemRandom, refused })(unproven));
    return {
      onFrame: (frame) => unproven.received(encodeFrame(frame)),
      onBytes: () => {},
      onDrain: () => {},
      onClose: (error) => (error ? unproven.failed(error) : unproven.ended()),
    };
  }

  meddle(proof: Proof): void {
    if (!proof.hello) return;
    const last = this.#lastHello;
    this.#lastHello = { ...proof.hello };
    if (this.meddles === 'repeats' && last) proof.hello = last;
    if (this.meddles === 'changes') proof.hello = { ...proof.hello, body: changed(proof.hello.body) };
    this.meddles = undefined;
  }
}

/** In its last field, so that it is still a hello. */
function changed(body: Buffer): Buffer {
  const bytes = Buffer.from(body);
  bytes[bytes.length - 1]! ^= 1;
  return bytes;
}
