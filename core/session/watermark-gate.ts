/**
 * Handles watermarks at the child during one session. Keeps the parent's watermarks until this node has received everything up to them. If the parent is a
 * replica, decides whether it has received enough, so that this node may follow it.
 */

import type { WaitsAttributes } from '../entries/up-attributes.ts';
import type { FeedConsumer } from '../feed/consumer.ts';
import type { AppliedChange } from '../feed/feed.ts';
import { isSourceAbove } from '../identity/node-path.ts';
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
  /** Whether the feed was resumed or reconciled in this session. Until then, the cursor belongs to the feed of the previous parent. */
  isResumed(): boolean;
  /** Called when the stored watermarks of the parent have risen. */
  reached(): void;
  readonly clock: Clock;
  /** Called when this node begins to wait, waits for another source, or stops waiting (undefined). */
  waits(waiting: WatermarkWait | undefined): void;
}

/** A wait: the node does not follow its parent, because the parent is behind. */
export interface WatermarkWait {
  readonly sinceMs: number;
  /** A text with the first source in which the parent is behind, and the revisions of both. */
  readonly for: string;
}

/** The attribute `waits` of the node's report about itself. */
export function waitsAttributes(waiting: WatermarkWait | undefined): { readonly waits?: WaitsAttributes } {
  return waiting ? { waits: { since: timestamp(waiting.sinceMs), for: waiting.for } } : {};
}

export class WatermarkGate {
  readonly #ports: WatermarkGatePorts;
  /** True if the parent has replicas. Without replicas, this node never compares its positions with another parent, so it does not record them. */
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

  /** True: the parent has received everything that this node has, so a row that the parent lacks is missing on purpose. Once open, the gate stays open. */
  isOpen(): boolean {
    if (!this.#waits) return true;
    const { path, store, log, clock } = this.#ports;
    const ownPositions = believed(store.read((reader) => readWatermarks(reader)).own, clock.wallMs());
    // A node that was moved in the tree may have rows of sources that its new parent never receives. Such sources must not make the node wait.
    const comparable = Object.fromEntries(
      Object.entries(ownPositions).filter(([source]) => isSourceAbove(path, source)),
    );
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

  /** Processes the watermarks that the parent sent with a head. Returns whether this node may follow the parent's feed. */
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

  /** Records the positions of this node. Called in the transaction that applies changes from the parent. */
  applied(t: Transaction, changes: readonly AppliedChange[]): void {
    const wallMs = this.#ports.clock.wallMs();
    if (this.#recordsPositions) raiseWatermarks(t, { own: positionsOf(changes, wallMs) }, wallMs);
  }

  /** Call it when more of the feed may be stored: this node may then have reached the pending watermarks. */
  progressed(): void {
    const { store, consumer, reached, clock, isResumed } = this.#ports;
    if (!this.#pending || !isResumed()) return;
    const { marks, head } = this.#pending;
    const { epoch, cursor, seenHead } = store.read((reader) => consumer.resume(reader));
    // With head 0 the feed is empty, and there is nothing to wait for. Otherwise this node needs the rows up to `seenHead`, not only up to the watermarks'
    // head: a row up to that head may be missing because a newer row, after that head, has superseded it.
    if (head > 0 && (epoch === '' || cursor < Math.max(head, seenHead))) return;
    this.#pending = undefined;
    store.write((t) => raiseWatermarks(t, { complete: marks }, clock.wallMs()));
    reached();
  }
}
