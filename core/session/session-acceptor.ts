/**
 * Decides whether a child gets a session: which child it is, whether it is admitted, and when its session begins. A refused child gets the reason and the
 * time after which to come again. Before this node answers, it compares what the child has received of its feed with its own store.
 */

import type { ResumeTuple } from '../feed/feed.ts';
import type { FeedProducer } from '../feed/producer.ts';
import { nameOf, parentOf } from '../identity/node-path.ts';
import { withReplica } from '../identity/replica.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { Frame, Hello, Retry } from '../wire/generated/mesh.ts';
import type { Link } from '../wire/link.ts';
import { type Refusal, refusalOf } from '../wire/refusals.ts';
import { HelloRateLimiter } from './admission.ts';
import { expiredOf } from './expiry-watch.ts';
import { admit, readSession, type SessionRecord, writeSession } from './handshake.ts';
import { validateHello } from './hello-validation.ts';
import type { ChildFeeds, ParentSessionsPorts, SessionStatus } from './parent-ports.ts';
import type { SessionEnds } from './session-ends.ts';
import { tupleFromWire } from './wire-frames.ts';

/** An admitted session. It may begin when it is durable. */
export interface AdmittedSession extends ChildFeeds {
  readonly record: SessionRecord;
  readonly version: number;
  /** The head of the child's feed when the session was opened. */
  readonly head: number;
  /** Whether this node was ready for the child at that moment. */
  readonly ready: boolean;
}

/** The wait of a refused child: long, because a person has to act. */
const refusedAfterMs = 30_000;
/**
 * A child whose session has been over for this long counts as vacant. Its process would be back by now, because waits between attempts grow to 60 s at most,
 * and a machine starts in less. Then the node sends a child with a too low boot counter or attach sequence the number that it has to exceed. If it did so
 * earlier, a copy could take the place of an original that is away for a moment.
 */
const vacantAfterMs = 120_000;
/**
 * The wait of a child that gets such a number, and of a child that was refused because a certificate has expired: that child comes again with a new
 * certificate, or fails in the handshake.
 */
const comesAgainAfterMs = 1_000;
export const takenOver = 'a newer session of this child took over';

export interface SessionAcceptorPorts extends ParentSessionsPorts {
  readonly ends: SessionEnds;
  isAttached(child: string): boolean;
  /** Writes what the child's present session still has to write. */
  settle(child: string): void;
  status(child: string): SessionStatus;
  /** Another process came with the identity of the child. */
  cloned(child: string, message: string): void;
}

export class SessionAcceptor {
  readonly #ports: SessionAcceptorPorts;
  readonly #helloRate = new HelloRateLimiter();

  constructor(ports: SessionAcceptorPorts) {
    this.#ports = ports;
  }

  /** The child's name, from its certificate. Throws Forbidden if the peer is not a child of this node. */
  childOf(link: Link): string {
    const { path, role, replica = 0 } = link.peer;
    if (role === 'center' || parentOf(path) !== this.#ports.path || path === '') {
      this.#ports.ends.refuse('path');
      throw new BanyanError(
        'Forbidden',
        `the certificate is for ${role} "${path}", which is no child of "${this.#ports.path}"`,
      );
    }
    return withReplica(nameOf(path), replica);
  }

  /** Calls `begin` when the session is durable; never if the child gets no session. */
  hello(link: Link, child: string, { frame }: Frame, begin: (hello: Hello, opened: AdmittedSession) => void): void {
    if (frame?.$case !== 'hello') {
      this.hangUp(link, 'no_hello', 'the first frame was no hello');
      return;
    }
    const hello = frame.value;
    const flaw = validateHello(hello, link.peer.role);
    if (flaw)
      return this.#refuse(link, { afterMs: refusedAfterMs, reason: 'bad_hello', message: `the hello's ${flaw}` });
    const waitMs = this.#helloRate.admit(child, this.#ports.clock.monotonicMs());
    if (waitMs > 0) {
      return this.#refuse(link, {
        afterMs: waitMs,
        reason: 'busy',
        message: 'many children come at once: this one has its turn later',
      });
    }
    try {
      const opened = this.#open(link, child, hello);
      if (!opened) return;
      // The session's sequence and the feed's incarnation have to be durable before the child receives them.
      this.#ports.store.flushed().then(
        () => {
          const expired = expiredOf(link, this.#ports.clock);
          // Somebody may have deleted the child's inventory objects during the flush. The child then gets the same answer as if it had asked now.
          if (this.#ports.store.read((reader) => opened.producer.isDropped(reader))) {
            const message = `"${child}" was removed from the inventory while it attached`;
            this.#refuse(link, { afterMs: refusedAfterMs, reason: 'unknown_child', message });
          } else if (!this.#isNewest(link, opened.record)) {
            this.hangUp(link, 'other', takenOver);
          } else if (expired) {
            this.#refuse(link, { afterMs: comesAgainAfterMs, reason: 'expired', message: expired.words });
          } else {
            begin(hello, opened);
          }
        },
        (error: unknown) => this.hangUp(link, 'busy', describeError(error)),
      );
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      const reason = error.retry === 'backoff' ? 'busy' : 'unknown_child';
      this.#refuse(link, { afterMs: refusedAfterMs, reason, message: describeError(error) });
    }
  }

  /** Flushes may complete in another order than they were requested. A process that came later may have been welcomed already, or is about to be. */
  #isNewest(link: Link, { sessionSequence }: SessionRecord): boolean {
    return (
      this.#ports.store.read((reader) => readSession(reader, sessionRecordKeyOf(link))?.sessionSequence) ===
      sessionSequence
    );
  }

  #open(link: Link, child: string, hello: Hello): AdmittedSession | undefined {
    const role = link.peer.role === 'agent' ? 'agent' : 'relay';
    const newer = this.#ports.replicas?.superseded(child, hello.attachSequence);
    if (newer) {
      const attachSequence = this.#isVacant(child) ? (newer.sequence ?? 0) : 0;
      const afterMs = attachSequence > 0 ? comesAgainAfterMs : refusedAfterMs;
      this.#refuse(link, { afterMs, reason: 'superseded', message: newer.message, attachSequence });
      return undefined;
    }
    this.#ports.settle(child);
    const { admission, feeds } = this.#ports.store.write((t) => {
      const live = this.#ports.isAttached(child);
      const decision = admit(hello, link.peer.path, readSession(t, sessionRecordKeyOf(link)), live);
      if (!decision.admitted) return { admission: decision };
      const opened = this.#ports.feedsOf(t, child, role);
      writeSession(t, sessionRecordKeyOf(link), decision.record);
      this.#ports.replicas?.attached(t, child, role, hello.attachSequence);
      return { admission: decision, feeds: opened };
    });
    if (!admission.admitted) {
      const bootCounter = this.#isVacant(child) ? (admission.bootCounter ?? 0) : 0;
      const afterMs = bootCounter > 0 ? comesAgainAfterMs : refusedAfterMs;
      this.#refuse(link, { afterMs, reason: admission.reason, message: admission.message, bootCounter });
      if (admission.reason === 'clone') this.#ports.cloned(child, admission.message);
      return undefined;
    }
    const { producer } = feeds!;
    this.#compare(child, producer, tupleFromWire(hello.down));
    return {
      ...feeds!,
      record: admission.record,
      version: admission.version,
      head: this.#ports.store.read((r) => producer.head(r)),
      ready: this.#ports.ready(child),
    };
  }

  /** Compares the child's resume tuple with the store, before this node announces whether it is ready. */
  #compare(child: string, producer: FeedProducer, tuple: ResumeTuple): void {
    const { store, putBack, hasOtherHistory } = this.#ports;
    const { isBehind, isOther } = store.read((reader) => ({
      isBehind: producer.wasPutBack(reader, tuple),
      isOther: producer.isOtherHistory(reader, tuple),
    }));
    if (isBehind) {
      // The log line names the child: if this store was never restored, that child is wrong.
      const message =
        'the store of this node was restored from an older copy: a child has received more of its feed than the store has';
      this.#ports.log.warn({ child, cursor: tuple.cursor, incarnation: tuple.incarnation }, message);
      putBack?.();
    }
    if (isOther) hasOtherHistory?.(child, isBehind);
  }

  /** Closes the link of a peer that breaks the order of frames. The peer gets no answer. */
  hangUp(link: Link, refusal: Refusal, reason: string): void {
    this.#ports.ends.refuse(refusal);
    link.close(reason);
  }

  #isVacant(child: string): boolean {
    const { connected, silentMs } = this.#ports.status(child);
    return !connected && silentMs >= vacantAfterMs;
  }

  #refuse(link: Link, reasons: Omit<Retry, 'bootCounter' | 'attachSequence'> & Partial<Retry>): void {
    const retry = { bootCounter: 0, attachSequence: 0, ...reasons };
    this.#ports.log.warn(
      { child: link.peer.path, reason: retry.reason, message: retry.message },
      'a child was refused',
    );
    this.#ports.ends.refuse(refusalOf(retry.reason));
    link.send({ frame: { $case: 'retry', value: retry } });
    link.close(retry.message);
  }
}

/** The key of a session's record. Each replica is a child of its own. */
export function sessionRecordKeyOf({ peer }: Link): string {
  return withReplica(peer.path, peer.replica ?? 0);
}
