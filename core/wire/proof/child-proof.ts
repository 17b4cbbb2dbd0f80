/**
 * The child's side: answers the parent's challenge in its Hello. Passes a Welcome on only if the parent has signed it for this session. Passes a Retry on
 * without a proof: the gateway that terminates TLS could send a false Retry, but it could also simply cut the connection.
 */

import { type Expiry, expiryOfChains } from '../../identity/expiry.ts';
import type { PeerIdentity } from '../../identity/peer-identity.ts';
import { replicasMax } from '../../identity/replica.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';
import type { Way } from '../dialer/way.ts';
import { type Frame, Hello, type Sealed, Welcome } from '../generated/mesh.ts';
import type { Dialer, Link, LinkEvents } from '../link.ts';
import { currentOf, perCredentials } from '../node-credentials.ts';
import { PassedLink } from './passed-link.ts';
import { ProofSigner, proofFrame, proofNonceBytes, proven, type SessionNonces } from './seal.ts';

export function provingDialer(dialer: Dialer, way: Way, random: Random): Dialer {
  const signer = perCredentials(way.credentials, (current) => new ProofSigner(current));
  return {
    async dial(events, timeoutMs) {
      const untilMs = way.clock.monotonicMs() + timeoutMs;
      const proof = new ChildProof(events, way, signer(), random);
      const link = await dialer.dial(proof, timeoutMs);
      return proof.challenged(link, untilMs - way.clock.monotonicMs());
    },
  };
}

type State = 'challenge' | 'welcome' | 'proven' | 'over';

class ChildProof implements LinkEvents {
  readonly #events: LinkEvents;
  readonly #way: Way;
  readonly #clock: Clock;
  readonly #signer: ProofSigner;
  readonly #nonce: Buffer;
  #state: State = 'challenge';
  #link: Link | undefined;
  #nonces: SessionNonces | undefined;
  /** The number of the replica that sent the challenge. The challenge contains this number. */
  #replica = 0;
  #expiry: Expiry | undefined;
  /** The parent, after it has proven who it is. */
  #proven: PeerIdentity | undefined;
  /** Ends the wait of `challenged`. */
  #settle: ((error?: Error) => void) | undefined;

  constructor(events: LinkEvents, way: Way, signer: ProofSigner, random: Random) {
    this.#events = events;
    this.#way = way;
    this.#clock = way.clock;
    this.#signer = signer;
    this.#nonce = Buffer.from(random.bytes(proofNonceBytes));
  }

  /** Waits for the parent's challenge, and returns the link for the session. */
  async challenged(link: Link, withinMs: number): Promise<Link> {
    this.#link = link;
    const timeout = new BanyanError('Unavailable', `${this.#way.shown}: no challenge came within the time of the dial`);
    const timer = this.#clock.after(Math.max(0, withinMs), () => this.#fail(timeout));
    try {
      await new Promise<void>((resolve, reject) => {
        this.#settle = (error) => (error ? reject(error) : resolve());
      });
    } finally {
      timer.stop();
      this.#settle = undefined;
    }
    return new PassedLink(
      link,
      () => this.#proven ?? this.#peer(),
      (frame) => this.#outgoing(frame),
      () => this.#expiry,
    );
  }

  onFrame(frame: Frame): void {
    switch (this.#state) {
      case 'challenge':
        return this.#onChallenge(frame);
      case 'welcome':
        return this.#onWelcome(frame);
      case 'proven':
        return this.#events.onFrame(frame);
      case 'over':
        return;
    }
  }

  onBytes(count: number): void {
    if (this.#state === 'welcome' || this.#state === 'proven') this.#events.onBytes(count);
  }

  onDrain(): void {
    if (this.#state === 'welcome' || this.#state === 'proven') this.#events.onDrain();
  }

  onClose(error?: Error): void {
    if (this.#state === 'over') return;
    const before = this.#state;
    this.#state = 'over';
    if (before !== 'challenge') return this.#events.onClose(error);
    this.#settle?.(error ?? new BanyanError('Unavailable', `${this.#way.shown}: closed before a challenge came`));
  }

  /** The identity of the parent. The challenge has the replica's number, without a proof. The Welcome proves the number later; if not, the session ends. */
  #peer(): PeerIdentity {
    const { parent } = this.#way;
    return this.#replica ? { ...parent, replica: this.#replica } : parent;
  }

  #onChallenge({ frame }: Frame): void {
    const { challenge, replica = 0 } = frame?.$case === 'proof' ? frame.value : {};
    if (challenge?.length !== proofNonceBytes) {
      const message =
        'the parent sends no challenge: set mesh.terminatedTls at the parent, or remove link.terminatedTls here';
      return this.#fail(new BanyanError('Protocol', `${this.#way.shown}: ${message}`));
    }
    if (replica >= replicasMax) {
      const message = `the challenge comes from replica ${replica}; there are at most ${replicasMax}`;
      return this.#fail(new BanyanError('Protocol', `${this.#way.shown}: ${message}`));
    }
    this.#nonces = { challenge, nonce: this.#nonce };
    this.#replica = replica;
    this.#state = 'welcome';
    this.#settle?.();
  }

  #onWelcome(frame: Frame): void {
    if (frame.frame?.$case === 'retry') return this.#events.onFrame(frame);
    try {
      const sealed = frame.frame?.$case === 'proof' ? frame.frame.value.welcome : undefined;
      if (!sealed) throw new BanyanError('Unauthorized', 'the parent answers without a proof of who it is');
      const value = this.#welcomeOf(sealed);
      this.#state = 'proven';
      this.#events.onFrame({ frame: { $case: 'welcome', value } });
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      this.#fail(new BanyanError(error.code, `${this.#way.shown}: ${error.message}`, {}, { cause: error }));
    }
  }

  #welcomeOf(sealed: Sealed): Welcome {
    const { caPem } = currentOf(this.#way.credentials);
    const peer = proven('parent', sealed, this.#nonces!, { caPem, wallMs: this.#clock.wallMs() });
    const refusal = this.#way.whyNotParent(peer);
    if (refusal) throw refusal;
    const { replica = 0 } = peer;
    if (this.#replica !== replica) {
      const mismatch = `replica ${this.#replica} sent the challenge and replica ${replica} sent the welcome`;
      throw new BanyanError('Unauthorized', `${mismatch}: the gateway must send all of one connection to one replica`);
    }
    this.#proven = peer;
    this.#expiry = expiryOfChains(this.#signer.certificates, sealed.certificates);
    try {
      return Welcome.decode(sealed.body);
    } catch (error) {
      throw new BanyanError(
        'Protocol',
        `the sealed message is no Welcome: ${describeError(error)}`,
        {},
        { cause: error },
      );
    }
  }

  #outgoing(frame: Frame): Frame {
    if (frame.frame?.$case !== 'hello') return frame;
    const sealed = this.#signer.seal('child', Hello.encode(frame.frame.value).finish(), this.#nonces!);
    return proofFrame({ hello: sealed });
  }

  /** Reports the end with the reason itself. The link's own events after this are ignored. */
  #fail(error: BanyanError): void {
    const before = this.#state;
    if (before === 'over') return;
    this.#state = 'over';
    this.#link?.close(error.message);
    if (before === 'challenge') this.#settle?.(error);
    else setImmediate(() => this.#events.onClose(error));
  }
}
