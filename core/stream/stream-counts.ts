/** What a node counts about streams. Metrics read it. */
import type { ResetCode, StreamObserver } from './stream.ts';

export class StreamCounts implements StreamObserver {
  /** Open ends. A stream that passes through the node has two ends there. */
  open = 0;
  /** Closed ends, by the code of their reset; `''`: closed in order. */
  readonly closedBy = new Map<ResetCode | '', number>();
  /** Requests and frames that were refused. */
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
