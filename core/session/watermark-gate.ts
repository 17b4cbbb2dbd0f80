/** A child's part in watermarks during one session: what the parent says, until it is reached; and whether a sibling has come far enough to be followed. */

import { isAbove } from '../entries/from-parent.ts';
import type { WaitsAttributes } from '../entries/up-attributes.ts';
import type { FeedConsumer } from '../feed/consumer.ts';
import type { AppliedChange } from '../feed/feed.ts';
import { timestamp } from '../object/conditions.ts';
import type { Clock } from '../runtime/clock.ts';
import { BanyanError } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Store, Transaction } from '../store/store.ts';
import { watermarksMax } from '../wire/codec/part-limits.ts';
import {
  believed,
  describeParentLag,
  positionsOf,
  raised,
  raiseWatermarks,
  readWatermarks,
  type Watermarks,
} from './watermark.ts';

export interface WatermarkGatePorts {
  /** Of this node. */
  readonly path: string;
  readonly store: Store;
  readonly log: Logger;
  readonly consumer: FeedConsumer;
  /** Whether the feed goes on, or was reconciled in this session: before that, the cursor is one of another feed. */
  isResumed(): boolean;
  /** Told is more than before. */
  reached(): void;
  readonly clock: Clock;
  /** Whether it waits, or for what, is another answer now. */
  waits(waiting: WatermarkWait | undefined): void;
}

/** Nothing is taken from the parent. */
export interface WatermarkWait {
  readonly sinceMs: number;
  /** What it lacks. */
  readonly for: string;
}

/** As the node tells it. */
export function waitsAttributes(waiting: WatermarkWait | undefined): { readonly waits?: WaitsAttributes } {
  return waiting ? { waits: { since: timestamp(waiting.sinceMs), for: waiting.for } } : {};
}

export class WatermarkGate {
  readonly #ports: WatermarkGatePorts;
  /** Only of a parent with siblings: nobody else is ever compared with another one. */
  readonly #notes: boolean;
  #waits: boolean;
  #waiting: WatermarkWait | undefined;
  #heard: Watermarks = {};
  #pending: { readonly marks: Watermarks; readonly head: number } | undefined;

  constructor(ports: WatermarkGatePorts, parent: { readonly hasReplicas: boolean; readonly resumes: boolean }) {
    this.#ports = ports;
    this.#notes = parent.hasReplicas;
    this.#waits = parent.hasReplicas && !parent.resumes;
    this.isOpen();
  }

  /** The parent has all that this node has: what it lacks is meant to be lacking. Once so, it stays so. */
  isOpen(): boolean {
    if (!this.#waits) return true;
    const { path, store, log, clock } = this.#ports;
    const own = believed(store.read((reader) => readWatermarks(reader)).own, clock.wallMs());
    // A node that was moved has taken from sources of which its new parent never hears.
    const comparable = Object.fromEntries(Object.entries(own).filter(([source]) => isAbove(path, source)));
    const reason = describeParentLag(this.#heard, comparable);
    this.#waits = reason !== undefined;
    this.#tell(reason);
    if (reason !== undefined)
      log.info(
        { reason },
        'the parent has older revisions than this node: this node takes nothing from the parent until the parent has caught up',
      );
    return !this.#waits;
  }

  #tell(reason: string | undefined): void {
    if (reason === this.#waiting?.for) return;
    const { clock, waits } = this.#ports;
    this.#waiting =
      reason === undefined ? undefined : { sinceMs: this.#waiting?.sinceMs ?? clock.wallMs(), for: reason };
    waits(this.#waiting);
  }

  /** What the parent said with a head; whether its feed may be taken up. */
  heard(said: Watermarks, head: number): boolean {
    const marks = believed(said, this.#ports.clock.wallMs());
    if (Object.keys(marks).length > 0) {
      this.#heard = raised(this.#heard, marks);
      const sources = Object.keys(this.#heard).length;
      if (sources > watermarksMax)
        throw new BanyanError('Protocol', `watermarks of ${sources} sources; at most ${watermarksMax}`);
      this.#pending = { marks: raised(this.#pending?.marks ?? {}, marks), head };
      this.progressed();
    }
    return this.isOpen();
  }

  /** In the transaction that applies what the parent sent. */
  applied(t: Transaction, changes: readonly AppliedChange[]): void {
    const wallMs = this.#ports.clock.wallMs();
    if (this.#notes) raiseWatermarks(t, { own: positionsOf(changes, wallMs) }, wallMs);
  }

  /** More of the feed may be stored: what was said with its head may be true here now. */
  progressed(): void {
    const { store, consumer, reached, clock, isResumed } = this.#ports;
    if (!this.#pending || !isResumed()) return;
    const { marks, head } = this.#pending;
    const { epoch, cursor, seenHead } = store.read((reader) => consumer.resume(reader));
    // Of an empty feed there is nothing to be stored. Up to the head a row may be missing that a newer one has superseded, which comes behind it.
    if (head > 0 && (epoch === '' || cursor < Math.max(head, seenHead))) return;
    this.#pending = undefined;
    store.write((t) => raiseWatermarks(t, { told: marks }, clock.wallMs()));
    reached();
  }
}
