/** Counts streams of a node, for metrics. */
import type { ResetCode, StreamObserver } from './stream.ts';

export class StreamCounts implements StreamObserver {
  /** Number of open ends. A stream that passes through the node has two ends at this node. */
  open = 0;
  /** Number of closed ends, keyed by the code of the reset; `''`: closed without a reset. */
  readonly closedBy = new Map<ResetCode | '', number>();
  /** Number of refused requests and frames, keyed by code. */
  readonly refusedBy = new Map<ResetCode, number>();

  opened(): void {
    this.open++;
  }

  closed(code?: ResetCode): void {
    this.open--;
    this.closedBy.set(code ?? '', (this.closedBy.get(code ?? '') ?? 0) + 1);
  }

  refused(code: ResetCode): void {
    this.refusedBy.set(code, (this.refusedBy.get(code) ?? 0) + 1);
  }
}
