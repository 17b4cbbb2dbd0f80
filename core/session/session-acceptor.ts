/**
 * Decides whether a child gets a session: identifies the child, admits or refuses it, and begins its session. A refused child gets the reason, and the time
 * after which it may try again. Before this node answers, it compares the child's place in the down feed with its own store.
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
import { admitKey, replacesKey } from './admitted-keys.ts';
import { expiredOf } from './expiry-watch.ts';
import { admit, readSession, type SessionRecord, withoutStarts, writeSession } from './handshake.ts';
import { validateHello } from './hello-validation.ts';
import { noteAttached } from './last-heard.ts';
import type { ChildFeeds, ParentSessionsPorts, SessionStatus } from './parent-ports.ts';
import type { SessionEnds } from './session-ends.ts';
import { tupleFromWire } from './wire-frames.ts';

/** An admitted session. It begins when its record is durable. */
export interface AdmittedSession extends ChildFeeds {
  readonly record: SessionRecord;
  readonly version: number;
  /** The head of the child's feed when the session was opened. */
  readonly head: number;
  /** Whether this node was ready for the child when the session was opened. */
  readonly ready: boolean;
}

/** Wait of a refused child. It is long, because usually a person has to repair the reason. */
const refusedAfterMs = 30_000;
/**
 * Time after which the place of a child without a session counts as vacant. A running process would be back earlier: its waits between attempts are at most
 * 60 s, and a machine starts in less time. If the place is vacant and a child sends a too low boot counter or attach sequence, this node sends the child the
 * number that it has to exceed. Earlier, this would be wrong: a copy could take the place of an original that is away for a moment.
 */
const vacantAfterMs = 120_000;
/**
 * Wait of a child that can try again soon: it got the number to exceed, or its certificate has expired. After an expiry, it tries again with a new
 * certificate, or its TLS handshake fails.
 */
const comesAgainAfterMs = 1_000;
export const takenOver = 'a newer session of this child took over';

export interface SessionAcceptorPorts extends ParentSessionsPorts {
  readonly ends: SessionEnds;
  isAttached(child: string): boolean;
  /** Stores the pending acknowledgements of the child's present session. */
  settle(child: string): void;
  status(child: string): SessionStatus;
  /** Called when another process tried to attach with the identity of the child. */
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

  /** Processes the first frame of a connection. Calls `begin` when the session is durable. Does not call it if the child gets no session. */
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
    if (this.#refuseRevoked(link)) return;
    try {
      const opened = this.#open(link, child, hello);
      if (!opened) return;
      // The session's sequence and the feed's incarnation have to be durable before the child receives them.
      this.#ports.store.flushed().then(
        () => {
          if (this.#refuseRevoked(link)) return;
          const expired = expiredOf(link, this.#ports.clock);
          // If somebody deleted the child's inventory objects during the flush, the child gets the same answer as an unknown child.
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

  /** Returns true if the child was refused. A revocation may also come during the flush. */
  #refuseRevoked(link: Link): boolean {
    const message = this.#ports.whyRevoked?.(link.peer);
    if (message !== undefined) this.#refuse(link, { afterMs: refusedAfterMs, reason: 'revoked', message });
    return message !== undefined;
  }

  /** False: a newer process of the child has opened a session meanwhile. This can happen because flushes may complete in any order. */
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
      const { path, certificate } = link.peer;
      const recordKey = sessionRecordKeyOf(link);
      // The key decides before the starts are compared: the owner of an earlier key must not make the new machine look like a copy.
      const isNewKey = certificate !== undefined && replacesKey(t, recordKey, certificate);
      const live = !isNewKey && this.#ports.isAttached(child);
      const stored = readSession(t, recordKey);
      const decision = admit(hello, path, stored && isNewKey ? withoutStarts(stored) : stored, live);
      if (!decision.admitted) return { admission: decision };
      if (certificate) admitKey(t, recordKey, certificate);
      const opened = this.#ports.feedsOf(t, child, role);
      writeSession(t, recordKey, decision.record);
      noteAttached(t, child, this.#ports.clock.wallMs());
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
      // The log line names the child, because the child may be the cause: if this store was never restored, that child is wrong.
      const message =
        'the store of this node was restored from an older copy: a child has received more of its feed than the store has';
      this.#ports.log.warn({ child, cursor: tuple.cursor, incarnation: tuple.incarnation }, message);
      putBack?.();
    }
    if (isOther) hasOtherHistory?.(child, isBehind);
  }

  /** Closes the link without an answer, for example if the peer sends frames in the wrong order. */
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
    if (retry.reason !== 'busy') this.#ports.refused?.(link.peer.path, retry.reason, retry.message);
    this.#ports.ends.refuse(refusalOf(retry.reason));
    link.send({ frame: { $case: 'retry', value: retry } });
    link.close(retry.message);
  }
}

/** The key of a session's record. Each replica of a child has its own record. */
export function sessionRecordKeyOf({ peer }: Link): string {
  return withReplica(peer.path, peer.replica ?? 0);
}
