/** Beats of a session, in both directions: they carry heads, ages of the root's report, watermarks, and the digests for the comparison of the two ends. */
import { digestDifference, sumBytes, sumOf } from '../feed/digest.ts';
import { hashBytes } from '../object/hash.ts';
import type { Reader } from '../store/store.ts';
import type { Beat, Frame, Digest as WireDigest } from '../wire/generated/mesh.ts';
import type { RunnerPorts } from './runner-ports.ts';
import type { SessionState } from './session.ts';
import { SessionError } from './session-ends.ts';
import type { Watermarks } from './watermark.ts';

/**
 * Interval of the comparisons of a busy feed. A beat can compare a feed only when everything was sent, so a busy feed is compared directly after a batch,
 * once in this time plus or minus a quarter. The random quarter spreads the comparisons of children that started at the same time.
 */
const compareEveryMs = 5 * 60_000;
const compareAfterMs = 0.75 * compareEveryMs;

export class Beats {
  readonly #ports: RunnerPorts;
  #sequence = 0;
  /** Time of the newest digest that this side has sent; at first, the time when the session began. */
  #comparedMs: number;
  /** Random addition to `compareAfterMs`. Undefined until `compareAfterMs` is over. */
  #compareJitterMs: number | undefined;
  #rootReport: { readonly ageMs: number; readonly atMs: number } | undefined;

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
    this.#comparedMs = ports.clock.monotonicMs();
  }

  /** The age of the root's newest report in the newest beat of the peer, and the time when that beat arrived. */
  get rootReport(): { readonly ageMs: number; readonly atMs: number } | undefined {
    return this.#rootReport;
  }

  next(state: SessionState, head: number, ready: boolean): Frame {
    const { store, producer } = this.#ports;
    const contents = store.read((reader) => ({
      purgeRevision: producer.purgeRevision(reader),
      digest: this.#digestAt(reader, state, head),
    }));
    if (contents.digest) {
      this.#comparedMs = this.#ports.clock.monotonicMs();
      this.#compareJitterMs = undefined;
    }
    return this.#frame({ ...contents, head, ready, watermarks: [] });
  }

  /** True: no beat has compared the feed for a long time. Then an additional beat follows the next batch that reaches the head. */
  get isCompareDue(): boolean {
    const { clock, random } = this.#ports;
    const overdueMs = clock.monotonicMs() - this.#comparedMs - compareAfterMs;
    if (overdueMs < 0) return false;
    this.#compareJitterMs ??= 2 * (compareEveryMs - compareAfterMs) * random.fraction();
    return overdueMs >= this.#compareJitterMs;
  }

  /** Makes an additional beat that the session machine did not ask for: this node is ready and its watermarks have risen. */
  withWatermarks(marks: Watermarks, head: number): Frame {
    const watermarks = Object.entries(marks).map(([source, revision]) => ({ source, revision }));
    return this.#frame({ purgeRevision: 0, digest: undefined, head, ready: true, watermarks });
  }

  /**
   * Whether this side may follow the peer's feed. First processes the watermarks of the beat, because this side may have waited for them.
   */
  mayTakeUp({ head, watermarks }: Beat): boolean {
    const marks = Object.fromEntries(watermarks.map(({ source, revision }) => [source, revision]));
    return this.#ports.watermarks?.(marks, head) ?? true;
  }

  /** Processes a beat of the peer. Throws DigestMismatch if the rows of the two ends differ. */
  received(beat: Beat, mode: SessionState['mode']): void {
    if (beat.digest) this.#compare(beat.digest, mode);
    this.#rootReport = { ageMs: beat.rootAgeMs, atMs: this.#ports.clock.monotonicMs() };
  }

  #frame(contents: Pick<Beat, 'purgeRevision' | 'digest' | 'head' | 'ready' | 'watermarks'>): Frame {
    const rootAgeMs = Math.round(this.#ports.rootAgeMs());
    return { frame: { $case: 'beat', value: { ...contents, sequence: ++this.#sequence, rootAgeMs } } };
  }

  /**
   * Returns the digest only if this side has sent everything up to the head, because the consumer can compare the rows only at this revision. Batches that are
   * not acknowledged yet are no problem: they were sent before this beat on the same line, so the consumer has applied them when it receives the beat.
   */
  #digestAt(reader: Reader, { outgoing }: SessionState, head: number): WireDigest | undefined {
    const { producer } = this.#ports;
    if (outgoing.sent !== head || producer.head(reader) !== head) return undefined;
    const { count, sum } = producer.digest(reader);
    return { revision: head, count, sum: sumBytes(sum) };
  }

  /**
   * The two ends differ by the rows that a quota has refused. If these rows may fit now, the session ends, and the next one reconciles.
   */
  #endShortage(): void {
    const { store, consumer, fence } = this.#ports;
    const isOver = store.write((t) => {
      fence(t);
      const ended = consumer.endShortage(t);
      if (ended) consumer.setResume(t, { ...consumer.resume(t), incarnation: '' });
      return ended;
    });
    if (isOver)
      throw new SessionError(
        'RoomAgain',
        'Protocol',
        `${consumer.name} has room again for entries that its quota has refused`,
        { retry: 'resync' },
      );
  }

  /** Compares the digests of the two ends. If they differ, clears the incarnation in the stored tuple: the next session cannot resume, and reconciles. */
  #compare(peer: WireDigest, mode: SessionState['mode']): void {
    const { store, consumer, mismatch, fence, differs } = this.#ports;
    const { tuple, digest, shortage } = store.read((reader) => ({
      tuple: consumer.resume(reader),
      digest: consumer.digest(reader),
      shortage: consumer.shortage(reader),
    }));
    if (mode !== 'resumed' || tuple.cursor !== peer.revision || peer.sum.length !== hashBytes) return;
    if (shortage) return this.#endShortage();
    const peerDigest = { count: peer.count, sum: sumOf(peer.sum) };
    if (!mismatch.isOne(digestDifference(digest, peerDigest))) return;
    store.write((t) => {
      fence(t);
      consumer.setResume(t, { ...tuple, incarnation: '' });
    });
    const message = `${consumer.name}: the rows differ at revision ${peer.revision}: ${digest.count} here, ${peer.count} at the other end`;
    differs(message);
    throw new SessionError('DigestMismatch', 'Protocol', message, { retry: 'resync' });
  }
}
