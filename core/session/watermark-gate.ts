/**
 * A child's handling of watermarks during one session: keeps the watermarks that the parent sends until this node has reached them, and decides whether a
 * replica has received enough for the child to follow it.
 */

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
  /** The path of this node. */
  readonly path: string;
  readonly store: Store;
  readonly log: Logger;
  readonly consumer: FeedConsumer;
  /** Whether the feed was resumed, or was reconciled in this session. Before that, the cursor belongs to another feed. */
  isResumed(): boolean;
  /** The stored watermarks of the parent have risen. */
  reached(): void;
  readonly clock: Clock;
  /** The node has begun to wait, waits for something else, or does not wait any more. */
  waits(waiting: WatermarkWait | undefined): void;
}

/** The node takes nothing from the parent now. */
export interface WatermarkWait {
  readonly sinceMs: number;
  /** The source and the revisions that the parent lacks, as a text. */
  readonly for: string;
}

/** The attribute of the node's report about itself. */
export function waitsAttributes(waiting: WatermarkWait | undefined): { readonly waits?: WaitsAttributes } {
  return waiting ? { waits: { since: timestamp(waiting.sinceMs), for: waiting.for } } : {};
}

export class WatermarkGate {
  readonly #ports: WatermarkGatePorts;
  /** True if the parent has replicas. Without replicas, the positions of this node are never compared with another parent. */
  readonly #recordsPositions: boolean;
  #waits: boolean;
  #waiting: WatermarkWait | undefined;
  #parentMarks: Watermarks = {};
  #pending: { readonly marks: Watermarks; readonly head: number } | undefined;

  constructor(ports: WatermarkGatePorts, parent: { readonly hasReplicas: boolean; readonly resumes: boolean }) {
    this.#ports = ports;
    this.#recordsPositions = parent.hasReplicas;
    this.#waits = parent.hasReplicas && !parent.resumes;
    this.isOpen();
  }

  /** The parent has received everything that this node has: a row that the parent lacks is missing on purpose. Once open, the gate stays open. */
  isOpen(): boolean {
    if (!this.#waits) return true;
    const { path, store, log, clock } = this.#ports;
    const ownPositions = believed(store.read((reader) => readWatermarks(reader)).own, clock.wallMs());
    // A node that was moved may have rows of sources that its new parent never receives.
    const comparable = Object.fromEntries(Object.entries(ownPositions).filter(([source]) => isAbove(path, source)));
    const reason = describeParentLag(this.#parentMarks, comparable);
    this.#waits = reason !== undefined;
    this.#setWaiting(reason);
    if (reason !== undefined)
      log.info(
        { reason },
        'the parent has older revisions than this node: this node takes nothing from the parent until the parent has caught up',
      );
    return !this.#waits;
  }

  #setWaiting(reason: string | undefined): void {
    if (reason === this.#waiting?.for) return;
    const { clock, waits } = this.#ports;
    this.#waiting =
      reason === undefined ? undefined : { sinceMs: this.#waiting?.sinceMs ?? clock.wallMs(), for: reason };
    waits(this.#waiting);
  }

  /** Takes the watermarks that the parent sent with a head. Gives whether this node may take up the parent's feed. */
  receive(watermarks: Watermarks, head: number): boolean {
    const marks = believed(watermarks, this.#ports.clock.wallMs());
    if (Object.keys(marks).length > 0) {
      this.#parentMarks = raised(this.#parentMarks, marks);
      const sources = Object.keys(this.#parentMarks).length;
      if (sources > watermarksMax)
        throw new BanyanError('Protocol', `watermarks of ${sources} sources; at most ${watermarksMax}`);
      this.#pending = { marks: raised(this.#pending?.marks ?? {}, marks), head };
      this.progressed();
    }
    return this.isOpen();
  }

  /** Called in the transaction that applies changes from the parent. */
  applied(t: Transaction, changes: readonly AppliedChange[]): void {
    const wallMs = this.#ports.clock.wallMs();
    if (this.#recordsPositions) raiseWatermarks(t, { own: positionsOf(changes, wallMs) }, wallMs);
  }

  /** More of the feed may be stored, so this node may have reached the pending watermarks. */
  progressed(): void {
    const { store, consumer, reached, clock, isResumed } = this.#ports;
    if (!this.#pending || !isResumed()) return;
    const { marks, head } = this.#pending;
    const { epoch, cursor, seenHead } = store.read((reader) => consumer.resume(reader));
    // An empty feed has nothing to store. Up to the head, a row may be missing that a newer row has superseded; the newer row comes after the head.
    if (head > 0 && (epoch === '' || cursor < Math.max(head, seenHead))) return;
    this.#pending = undefined;
    store.write((t) => raiseWatermarks(t, { complete: marks }, clock.wallMs()));
    reached();
  }
}
