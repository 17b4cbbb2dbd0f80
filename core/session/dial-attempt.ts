/** One connection of a child to its parent, from the Hello to the end of the connection. */

import { checkFromParent, checkWatermarks } from '../entries/from-parent.ts';
import type { ResumeTuple } from '../feed/feed.ts';
import { heldPieces } from '../feed/pieces.ts';
import type { PeerIdentity } from '../identity/peer-identity.ts';
import type { Timer } from '../runtime/clock.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { Reader } from '../store/store.ts';
import { maxFrameBytes } from '../wire/codec/frames.ts';
import { Feed, type Frame, type Welcome } from '../wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../wire/link.ts';
import { type Refusal, refusalOf } from '../wire/refusals.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { passAttachSequence } from './attach.ts';
import type { ChildSessionPorts } from './child-ports.ts';
import { expiredOf } from './expiry-watch.ts';
import { windowMaxBytes } from './flow.ts';
import { ownVersions, versionMax, versionMin } from './handshake.ts';
import { validateWelcome } from './hello-validation.ts';
import type { Mismatch } from './mismatch.ts';
import { isFormerStoreIncarnation, markAttached, passBootCounter, readNodeIdentity } from './node-identity.ts';
import { SessionRunner } from './runner.ts';
import { WatermarkGate, type WatermarkWait } from './watermark-gate.ts';
import { heldFromWire, heldToWire, tupleFromWire, tupleToWire } from './wire-frames.ts';

/** If a parent accepts the connection but sends no Welcome within this time, it counts as unreachable. */
const welcomeWithinMs = 15_000;

export interface DialAttemptEvents {
  waits(waiting: WatermarkWait | undefined): void;
  began(runner: SessionRunner, parentHasReplicas: boolean): void;
  differs(what: string): void;
  /** No session has begun. `ended` follows. */
  refused(refusal: Refusal): void;
  /** A session had begun and is over. `ended` or `away` follows. */
  sessionOver(error: Error | undefined): void;
  /** The attempt is over. Exactly one of `ended` and `away` is called, once, as the last call. */
  ended(reason: string, askedMs?: number): void;
  /** The attempt is over, because the parent shuts down as planned. `returnAfterMs`: the time until the parent is back. */
  away(returnAfterMs: number): void;
}

export class DialAttempt {
  readonly #ports: ChildSessionPorts;
  readonly #observer: DialAttemptEvents;
  readonly #mismatch: Mismatch;
  #link: Link | undefined;
  #runner: SessionRunner | undefined;
  #timer: Timer | undefined;
  #over = false;

  constructor(ports: ChildSessionPorts, observer: DialAttemptEvents, mismatch: Mismatch) {
    this.#ports = ports;
    this.#mismatch = mismatch;
    this.#observer = observer;
  }

  /** The parent at the other end. Undefined: there is no connection. */
  get peer(): PeerIdentity | undefined {
    return this.#link?.peer;
  }

  readonly events: LinkEvents = {
    onFrame: (frame) => this.#receive(frame),
    onBytes: () => this.#runner?.alive(),
    onDrain: () => this.#runner?.drained(),
    onClose: (error) =>
      this.#runner ? this.#runner.end(error) : this.#end(error ? describeError(error) : 'closed by the parent'),
  };

  hello(link: Link, attachSequence: number): void {
    // The attempt may end before the Hello is sent, for example after a refusal.
    if (this.#over) return link.close('the attempt is over');
    this.#link = link;
    const { store, consumer, identity, path, role, software, clock } = this.#ports;
    const { tuple, held, attachedNonce, bootCounter } = store.read((reader) => ({
      tuple: consumer.resume(reader),
      held: heldPieces(reader, consumer.id),
      attachedNonce: readNodeIdentity(reader)?.attachedNonce ?? '',
      bootCounter: readNodeIdentity(reader)?.bootCounter ?? identity.bootCounter,
    }));
    const value = {
      versionMin,
      versionMax,
      path,
      role,
      bootCounter,
      bootNonce: Buffer.from(identity.bootNonce, 'hex'),
      attachSequence,
      down: tupleToWire(tuple),
      downCreditBytes: windowMaxBytes,
      maxFrameBytes,
      software,
      attachedNonce: Buffer.from(attachedNonce, 'hex'),
      held: heldToWire(held),
      transport: link.transport,
    };
    link.send({ frame: { $case: 'hello', value } });
    this.#timer = clock.after(welcomeWithinMs, () => {
      this.#hangUp(link, 'no_welcome', 'no welcome came');
    });
  }

  /**
   * Ends the attempt because of an error before the session. The attempt must end before the link closes: the close event of the link comes later, and must
   * not be confused with the end of the next session.
   */
  fail(link: Link | undefined, reason: string): void {
    this.#end(reason);
    link?.close(reason);
  }

  /** Ends the attempt if no session has begun yet. */
  cancel(reason: string): void {
    if (this.#over || this.#runner) return;
    this.#over = true;
    this.#timer?.stop();
    this.#link?.close(reason);
  }

  #receive(frame: Frame): void {
    if (this.#runner) return this.#runner.receive(frame);
    try {
      this.#onAnswer(frame);
    } catch (error) {
      // For example, the disk is full. There may be room at the next attempt.
      if (!(error instanceof BanyanError)) throw error;
      this.#ports.log.warn(
        { code: error.code, reason: error.message },
        'the answer of the parent could not be processed',
      );
      this.fail(this.#link, describeError(error));
    }
  }

  #onAnswer(frame: Frame): void {
    switch (frame.frame?.$case) {
      case 'welcome':
        this.#timer?.stop();
        return this.#begin(frame.frame.value);
      case 'retry': {
        const { afterMs, bootCounter, attachSequence } = frame.frame.value;
        if (bootCounter > 0) this.#ports.store.write((t) => passBootCounter(t, bootCounter));
        if (attachSequence > 0) this.#ports.store.write((t) => passAttachSequence(t, attachSequence));
        const [reason, message] = [shortened(frame.frame.value.reason), shortened(frame.frame.value.message)];
        this.#ports.log.warn({ reason, message }, 'the parent refused this node');
        this.#observer.refused(refusalOf(reason));
        this.#link?.close(reason);
        return this.#end(`${reason}: ${message}`, afterMs);
      }
      default:
        return this.#hangUp(this.#link, 'no_welcome', 'the first frame was no welcome');
    }
  }

  #begin(welcome: Welcome): void {
    const link = this.#link;
    if (!link || this.#over) return;
    if (welcome.version < versionMin || welcome.version > versionMax) {
      const reason = `the parent chose version ${welcome.version} of the protocol, this node speaks ${ownVersions}`;
      return this.#hangUp(link, 'version', reason);
    }
    // If a gateway terminates TLS, the parent has proven only now who it is.
    const revoked = this.#ports.whyRevoked?.(link.peer);
    if (revoked !== undefined) return this.#hangUp(link, 'revoked', revoked);
    const flaw = validateWelcome(welcome);
    if (flaw) return this.#hangUp(link, 'bad_welcome', `the welcome's ${flaw}`);
    const { store, clock, log, producer, consumer } = this.#ports;
    const expired = expiredOf(link, clock);
    if (expired) {
      link.send({ frame: { $case: 'goodbye', value: { reason: expired.words, returnAfterMs: 0 } } });
      return this.#hangUp(link, 'expired', expired.words);
    }
    store.write((t) => {
      markAttached(t);
      this.#ports.attaching?.(t);
    });
    const up = tupleFromWire(welcome.up);
    if (store.read((reader) => this.#lacksHistory(reader, up))) this.#ports.putBack?.();
    const { resumes, acknowledged, newest, cursor } = store.read((reader) => ({
      resumes: producer.resumable(reader, up),
      acknowledged: producer.acknowledged(reader),
      newest: producer.head(reader),
      cursor: consumer.resume(reader).cursor,
    }));
    const head = Math.max(acknowledged, resumes ? up.cursor : 0);
    const isReady = this.#ports.ready(welcome.hasReplicas);
    // Rows that are written but not durable yet belong to this node's report. So the node becomes ready only together with a head that covers these rows.
    const waitsForFlush = isReady === true && newest > head;
    const { epoch, incarnation } = producer;
    link.send({
      frame: {
        $case: 'resume',
        value: {
          feed: Feed.FEED_UP,
          resumes,
          epoch: Buffer.from(epoch, 'hex'),
          incarnation: Buffer.from(incarnation, 'hex'),
        },
      },
    });
    const gate = this.#gateOf(welcome);
    this.#runner = new SessionRunner(
      {
        store,
        clock,
        log,
        link,
        produces: 'up',
        producer,
        consumer,
        random: this.#ports.random,
        streams: this.#ports.streamsOf?.(link),
        fence: () => {
          if (this.#over) throw new BanyanError('Conflict', 'the session is over');
        },
        applied: (t, changes) => {
          if (changes.length === 0) return this.#ports.passed?.(t);
          for (const change of changes) checkFromParent(this.#ports.path, change);
          gate.applied(t, changes);
          this.#ports.applied(t, changes);
        },
        committed: (changes) => {
          this.#ports.committed?.(changes);
          gate.progressed();
        },
        watermarks: (marks, at) => {
          checkWatermarks(this.#ports.path, marks);
          return gate.receive(marks, at);
        },
        acknowledged: () => {},
        acknowledgements: new Acknowledgements(store, clock),
        caughtUp: () => {
          this.#ports.caughtUp();
          gate.progressed();
        },
        // Beats to the parent carry no age, because the root is above the parent and not below it.
        rootAgeMs: () => 0,
        mismatch: this.#mismatch,
        differs: (what) => {
          log.error({ reason: what }, 'the feed from the parent differs from what the parent has: it is reconciled');
          this.#observer.differs(what);
        },
        ended: (error, returnAfterMs) => {
          this.#observer.sessionOver(error);
          if (returnAfterMs === undefined) this.#end(error ? describeError(error) : 'ended in order');
          else this.#away(returnAfterMs);
        },
      },
      {
        head,
        sentFrom: resumes ? up.cursor : undefined,
        ready: waitsForFlush ? undefined : isReady,
        creditBytes: welcome.upCreditBytes,
        held: heldFromWire(welcome.held),
        cursor,
        resumes: welcome.downResumes,
        peerReady: welcome.ready && gate.isOpen(),
      },
    );
    if (!this.#over) this.#observer.began(this.#runner, welcome.hasReplicas);
    if (waitsForFlush) this.#runner.ready(true);
  }

  /** True: the parent has received revisions of the up feed that this store may have lost. */
  #lacksHistory(reader: Reader, up: ResumeTuple): boolean {
    if (up.incarnation === '' || !this.#ports.producer.isOtherHistory(reader, up)) return false;
    return !isFormerStoreIncarnation(reader, up.incarnation);
  }

  #away(returnAfterMs: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#observer.away(returnAfterMs);
  }

  #gateOf({ hasReplicas, downResumes }: Welcome): WatermarkGate {
    const { path, store, log, consumer, clock, watermarksReached } = this.#ports;
    const waits = (waiting: WatermarkWait | undefined) => this.#observer.waits(waiting);
    const isResumed = () => this.#runner?.isResumed ?? downResumes;
    const ports = { path, store, log, consumer, isResumed, clock, reached: () => watermarksReached?.(), waits };
    return new WatermarkGate(ports, { hasReplicas, resumes: downResumes });
  }

  /** Closes the link of a parent that breaks the protocol. */
  #hangUp(link: Link | undefined, refusal: Refusal, reason: string): void {
    if (this.#over) return;
    this.#observer.refused(refusal);
    link?.close(reason);
    this.#end(reason);
  }

  #end(reason: string, askedMs?: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.stop();
    this.#observer.ended(reason, askedMs);
  }
}

/** Limit for texts of the parent, because they go into logs. */
const peerTextCharsMax = 1_024;

function shortened(text: string): string {
  return text.slice(0, peerTextCharsMax);
}
