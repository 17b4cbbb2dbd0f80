/** One connection of a child to its parent, from hello to its end. */

import { checkFromParent, checkWatermarks } from '../entries/from-parent.ts';
import type { ResumeTuple } from '../feed/feed.ts';
import { heldPieces } from '../feed/pieces.ts';
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

/** A parent that takes the connection and says nothing is as good as none. */
const welcomeWithinMs = 15_000;

export interface DialAttemptEvents {
  waits(waiting: WatermarkWait | undefined): void;
  began(runner: SessionRunner, parentHasReplicas: boolean): void;
  differs(what: string): void;
  /** Before `ended`, where none had. */
  refused(refusal: Refusal): void;
  /** Before either of those below, where a session had begun. */
  sessionOver(error: Error | undefined): void;
  /** Once, last: either this … */
  ended(reason: string, askedMs?: number): void;
  /** … or, when the parent ended in order, how long it is away. */
  away(returnAfterMs: number): void;
}

/** One connection, from hello to its end. */
export class DialAttempt {
  readonly #ports: ChildSessionPorts;
  readonly #told: DialAttemptEvents;
  readonly #mismatch: Mismatch;
  #link: Link | undefined;
  #runner: SessionRunner | undefined;
  #timer: Timer | undefined;
  #over = false;

  constructor(ports: ChildSessionPorts, told: DialAttemptEvents, mismatch: Mismatch) {
    this.#ports = ports;
    this.#mismatch = mismatch;
    this.#told = told;
  }

  readonly events: LinkEvents = {
    onFrame: (frame) => this.#receive(frame),
    onBytes: () => this.#runner?.alive(),
    onDrain: () => this.#runner?.drained(),
    onClose: (error) =>
      this.#runner ? this.#runner.end(error) : this.#end(error ? describeError(error) : 'closed by the parent'),
  };

  hello(link: Link, attachSequence: number): void {
    // It may have been refused before it said anything.
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

  /** Its hello could not be said. Over first: the link's own end, which comes later, would be taken for that of the session after this one. */
  fail(link: Link | undefined, reason: string): void {
    this.#end(reason);
    link?.close(reason);
  }

  /** No session has begun, and none is to. */
  cancel(reason: string): void {
    if (this.#over || this.#runner) return;
    this.#over = true;
    this.#timer?.stop();
    this.#link?.close(reason);
  }

  #receive(frame: Frame): void {
    if (this.#runner) return this.#runner.receive(frame);
    try {
      this.#answered(frame);
    } catch (error) {
      // A disk that is full: the next attempt may find room.
      if (!(error instanceof BanyanError)) throw error;
      this.#ports.log.warn({ code: error.code, reason: error.message }, 'the answer of the parent was not taken');
      this.fail(this.#link, describeError(error));
    }
  }

  #answered(frame: Frame): void {
    switch (frame.frame?.$case) {
      case 'welcome':
        this.#timer?.stop();
        return this.#begin(frame.frame.value);
      case 'retry': {
        const { afterMs, bootCounter, attachSequence } = frame.frame.value;
        if (bootCounter > 0) this.#ports.store.write((t) => passBootCounter(t, bootCounter));
        if (attachSequence > 0) this.#ports.store.write((t) => passAttachSequence(t, attachSequence));
        const [reason, message] = [said(frame.frame.value.reason), said(frame.frame.value.message)];
        this.#ports.log.warn({ reason, message }, 'the parent refused this node');
        this.#told.refused(refusalOf(reason));
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
      const words = `the parent chose version ${welcome.version} of the protocol, this node speaks ${ownVersions}`;
      return this.#hangUp(link, 'version', words);
    }
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
    // What was written and is not durable yet is part of what it has to say: it is ready with a head that covers that.
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
          return gate.heard(marks, at);
        },
        acknowledged: () => {},
        acknowledgements: new Acknowledgements(store, clock),
        caughtUp: () => {
          this.#ports.caughtUp();
          gate.progressed();
        },
        // Of the way up it says nothing: the root is not there.
        rootAgeMs: () => 0,
        mismatch: this.#mismatch,
        differs: (what) => {
          log.error({ reason: what }, 'the feed from the parent differs from what the parent has: it is reconciled');
          this.#told.differs(what);
        },
        ended: (error, returnAfterMs) => {
          this.#told.sessionOver(error);
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
    if (!this.#over) this.#told.began(this.#runner, welcome.hasReplicas);
    if (waitsForFlush) this.#runner.ready(true);
  }

  /** The parent knows of the up feed what this store may have lost. */
  #lacksHistory(reader: Reader, up: ResumeTuple): boolean {
    if (up.incarnation === '' || !this.#ports.producer.isOtherHistory(reader, up)) return false;
    return !isFormerStoreIncarnation(reader, up.incarnation);
  }

  #away(returnAfterMs: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#told.away(returnAfterMs);
  }

  #gateOf({ hasReplicas, downResumes }: Welcome): WatermarkGate {
    const { path, store, log, consumer, clock, watermarksReached } = this.#ports;
    const waits = (waiting: WatermarkWait | undefined) => this.#told.waits(waiting);
    const isResumed = () => this.#runner?.isResumed ?? downResumes;
    const ports = { path, store, log, consumer, isResumed, clock, reached: () => watermarksReached?.(), waits };
    return new WatermarkGate(ports, { hasReplicas, resumes: downResumes });
  }

  /** On one that does not keep to the protocol. */
  #hangUp(link: Link | undefined, refusal: Refusal, reason: string): void {
    if (this.#over) return;
    this.#told.refused(refusal);
    link?.close(reason);
    this.#end(reason);
  }

  #end(reason: string, askedMs?: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.stop();
    this.#told.ended(reason, askedMs);
  }
}

/** Words of the other end go into logs: a sentence, not a frame full of them. */
const saidCharsMax = 1_024;

function said(words: string): string {
  return words.slice(0, saidCharsMax);
}
