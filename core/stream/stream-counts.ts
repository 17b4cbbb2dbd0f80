/** What a node counts of streams; metrics read it. */
import type { ResetCode, StreamObserver } from './stream.ts';

export class StreamCounts implements StreamObserver {
  /** Ends that are open now. A stream that passes a node has two there. */
  open = 0;
  /** Ends that are closed, by the code of their reset; `''`: in order. */
  readonly closedBy = new Map<ResetCode | '', number>();
  /** Requests and frames that were turned away. */
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
