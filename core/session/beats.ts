/** Beats of a session, both ways: heads, ages, watermarks, and the digests by which the two ends of a feed are compared. */
import { digestDifference, sumBytes, sumOf } from '../feed/digest.ts';
import { hashBytes } from '../object/hash.ts';
import type { Reader } from '../store/store.ts';
import type { Beat, Frame, Digest as WireDigest } from '../wire/generated/mesh.ts';
import type { RunnerPorts } from './runner-ports.ts';
import type { SessionState } from './session.ts';
import { SessionError } from './session-ends.ts';
import type { Watermarks } from './watermark.ts';

/** A feed that no beat finds at rest is compared behind a batch so often, give or take a quarter: those of a parent that was started with all its children are not compared at once. */
const compareEveryMs = 5 * 60_000;
const compareAfterMs = 0.75 * compareEveryMs;

export class Beats {
  readonly #ports: RunnerPorts;
  #sequence = 0;
  /** When the peer had a digest of the produced feed last, or the session began. */
  #comparedMs: number;
  /** Beyond `compareAfterMs`; undefined until that is over. */
  #compareLaterMs: number | undefined;
  #onRootReport: { readonly ageMs: number; readonly atMs: number } | undefined;

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
    this.#comparedMs = ports.clock.monotonicMs();
  }

  /** What the peer's last beat said, and when. */
  get onRootReport(): { readonly ageMs: number; readonly atMs: number } | undefined {
    return this.#onRootReport;
  }

  next(state: SessionState, head: number, ready: boolean): Frame {
    const { store, producer } = this.#ports;
    const said = store.read((reader) => ({
      purgeRevision: producer.purgeRevision(reader),
      digest: this.#digestAt(reader, state, head),
    }));
    if (said.digest) {
      this.#comparedMs = this.#ports.clock.monotonicMs();
      this.#compareLaterMs = undefined;
    }
    return this.#frame({ ...said, head, ready, watermarks: [] });
  }

  /** No beat has found the feed at rest for long: the next batch that reaches the head has one behind it. */
  get isCompareDue(): boolean {
    const { clock, random } = this.#ports;
    const agoMs = clock.monotonicMs() - this.#comparedMs - compareAfterMs;
    if (agoMs < 0) return false;
    this.#compareLaterMs ??= 2 * (compareEveryMs - compareAfterMs) * random.fraction();
    return agoMs >= this.#compareLaterMs;
  }

  /** Beside those of the machine, when a node that is ready has come further with its sources. */
  withWatermarks(marks: Watermarks, head: number): Frame {
    const watermarks = Object.entries(marks).map(([source, revision]) => ({ source, revision }));
    return this.#frame({ purgeRevision: 0, digest: undefined, head, ready: true, watermarks });
  }

  /** Whether this side may take up the peer's feed. Where the peer is, is heard first: what it says may be what was waited for. */
  mayTakeUp({ head, watermarks }: Beat): boolean {
    const marks = Object.fromEntries(watermarks.map(({ source, revision }) => [source, revision]));
    return this.#ports.watermarks?.(marks, head) ?? true;
  }

  /** Throws DigestMismatch. */
  heard(beat: Beat, mode: SessionState['mode']): void {
    if (beat.digest) this.#compare(beat.digest, mode);
    this.#onRootReport = { ageMs: beat.rootAgeMs, atMs: this.#ports.clock.monotonicMs() };
  }

  #frame(said: Pick<Beat, 'purgeRevision' | 'digest' | 'head' | 'ready' | 'watermarks'>): Frame {
    const rootAgeMs = Math.round(this.#ports.rootAgeMs());
    return { frame: { $case: 'beat', value: { ...said, sequence: ++this.#sequence, rootAgeMs } } };
  }

  /**
   * Only when the consumer has been sent all there is: at any other revision there is nothing to compare with. What is not acknowledged yet was sent before
   * this beat on the same line, and is in the consumer's rows when that hears it.
   */
  #digestAt(reader: Reader, { outgoing }: SessionState, head: number): WireDigest | undefined {
    const { producer } = this.#ports;
    if (outgoing.sent !== head || producer.head(reader) !== head) return undefined;
    const { count, sum } = producer.digest(reader);
    return { revision: head, count, sum: sumBytes(sum) };
  }

  /** A difference costs a reconciliation: the tuple names no incarnation any more, so the next session can't go on. */
  #compare(peer: WireDigest, mode: SessionState['mode']): void {
    const { store, consumer, mismatch, fence, differs } = this.#ports;
    const { tuple, digest } = store.read((reader) => ({
      tuple: consumer.resume(reader),
      digest: consumer.digest(reader),
    }));
    if (mode !== 'resumed' || tuple.cursor !== peer.revision || peer.sum.length !== hashBytes) return;
    const theirs = { count: peer.count, sum: sumOf(peer.sum) };
    if (!mismatch.isOne(digestDifference(digest, theirs))) return;
    store.write((t) => {
      fence(t);
      consumer.setResume(t, { ...tuple, incarnation: '' });
    });
    const what = `${consumer.name}: at revision ${peer.revision} there are ${digest.count} rows here and ${peer.count} at the other end, or others`;
    differs(what);
    throw new SessionError('DigestMismatch', 'Protocol', what, { retry: 'resync' });
  }
}
