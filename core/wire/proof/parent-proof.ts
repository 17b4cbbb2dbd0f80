/** The parent's side: challenges a child that has shown no certificate. Accepts nothing from the child except a Hello that answers the challenge. */

import { expiryOfChains } from '../../identity/expiry.ts';
import { identityOfCertificate, type PeerIdentity } from '../../identity/peer-identity.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';
import type { Refused } from '../acceptor.ts';
import type { FrameLink } from '../frame-link.ts';
import { type Frame, Hello, Welcome } from '../generated/mesh.ts';
import type { Accept, Link, LinkEvents } from '../link.ts';
import { currentOf, type NodeCredentials, perCredentials } from '../node-credentials.ts';
import type { Refusal } from '../refusals.ts';
import { PassedLink } from './passed-link.ts';
import { ProofSigner, proofFrame, proofNonceBytes, proven, type SessionNonces } from './seal.ts';

export interface ParentProofOptions {
  readonly credentials: NodeCredentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly refused: Refused;
}

/** Same limit as that of a session that waits for a Hello. */
const helloWithinMs = 10_000;

/** Handles links whose peer is not proven yet. Calls `accept` after the peer is proven. */
export function acceptProven(accept: Accept, options: ParentProofOptions): (link: FrameLink) => LinkEvents {
  const signer = perCredentials(options.credentials, (current) => new ProofSigner(current));
  return (link) => new ParentProof(link, accept, signer(), options);
}

class ParentProof implements LinkEvents {
  readonly #link: FrameLink;
  readonly #accept: Accept;
  readonly #signer: ProofSigner;
  readonly #options: ParentProofOptions;
  readonly #challenge: Buffer;
  readonly #timer: Timer;
  /** The refusal that is counted if the link ends now. Undefined: `accept` counts the end itself. */
  #refusal: Refusal | undefined = 'no_hello';
  #peer: PeerIdentity | undefined;
  /** The listeners of the session. Present after the peer is proven. */
  #events: LinkEvents | undefined;

  constructor(link: FrameLink, accept: Accept, signer: ProofSigner, options: ParentProofOptions) {
    this.#link = link;
    this.#accept = accept;
    this.#signer = signer;
    this.#options = options;
    this.#challenge = Buffer.from(options.random.bytes(proofNonceBytes));
    this.#timer = options.clock.after(helloWithinMs, () => {
      link.abort(new BanyanError('Unavailable', `no hello came within ${helloWithinMs} ms`));
    });
    link.send(proofFrame({ challenge: this.#challenge, replica: replicaOf(signer) }));
  }

  onFrame(frame: Frame): void {
    if (this.#events) return this.#events.onFrame(frame);
    this.#timer.stop();
    try {
      this.#begin(frame);
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.#link.abort(error);
    }
  }

  onBytes(count: number): void {
    this.#events?.onBytes(count);
  }

  onDrain(): void {
    this.#events?.onDrain();
  }

  onClose(error?: Error): void {
    this.#timer.stop();
    if (this.#refusal) this.#options.refused(this.#refusal);
    this.#events?.onClose(error);
  }

  onStream(id: number, link: Link): LinkEvents {
    if (!this.#events?.onStream) throw new BanyanError('NotFound', `stream ${id}: this session takes no streams`);
    return this.#events.onStream(
      id,
      new PassedLink(
        link,
        () => this.#peer!,
        (frame) => frame,
      ),
    );
  }

  #begin({ frame }: Frame): void {
    this.#refusal = 'proof';
    const sealed = frame?.$case === 'proof' ? frame.value.hello : undefined;
    if (!sealed) {
      const message =
        'the child sent no proof of identity: set link.terminatedTls at the child, or connect it without a gateway that terminates TLS';
      throw new BanyanError('Unauthorized', message);
    }
    if (sealed.nonce.length !== proofNonceBytes) {
      throw new BanyanError('Unauthorized', `a nonce of ${sealed.nonce.length} bytes instead of ${proofNonceBytes}`);
    }
    const nonces: SessionNonces = { challenge: this.#challenge, nonce: sealed.nonce };
    const { credentials, clock } = this.#options;
    const peer = proven('child', sealed, nonces, { caPem: currentOf(credentials).caPem, wallMs: clock.wallMs() });
    this.#peer = peer;
    this.#refusal = 'bad_hello';
    const hello = decodeHello(sealed.body);
    const expiry = expiryOfChains(this.#signer.certificates, sealed.certificates);
    const passed = new PassedLink(
      this.#link,
      () => peer,
      (out) => this.#sealed(out, nonces),
      () => expiry,
    );
    this.#refusal = undefined;
    this.#events = this.#accept(passed);
    this.#events.onFrame({ frame: { $case: 'hello', value: hello } });
  }

  #sealed(frame: Frame, nonces: SessionNonces): Frame {
    if (frame.frame?.$case !== 'welcome') return frame;
    const sealed = this.#signer.seal('parent', Welcome.encode(frame.frame.value).finish(), nonces);
    return proofFrame({ welcome: sealed });
  }
}

/**
 * The replica's number for the challenge. Behind a gateway, the child gets no certificate of the parent, so the child could not see which replica it has
 * reached.
 */
function replicaOf({ certificates: [own] }: ProofSigner): number {
  return own ? (identityOfCertificate(own).replica ?? 0) : 0;
}

function decodeHello(body: Uint8Array): Hello {
  try {
    return Hello.decode(body);
  } catch (error) {
    throw new BanyanError('Protocol', `the sealed message is no Hello: ${describeError(error)}`, {}, { cause: error });
  }
}
