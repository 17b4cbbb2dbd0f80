/** The log of a node: events as lines, and what the node does when the lines can't be written. */
import { jsonText } from '../object/json.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { AuditPort } from './audit-port.ts';
import { type AuditEvent, isCarriedOut } from './event.ts';
import type { AuditPolicy } from './policy.ts';

/** The part of LineQueue that the log needs. */
export interface AuditLines {
  write(line: string): boolean;
  readonly trouble: string | undefined;
  readonly isFilling: boolean;
}

export interface AuditLogOptions {
  readonly policy: AuditPolicy;
  readonly bodyBytesMax: number;
  /** `refuse`: requests that change something are refused. `count`: they are served, and lost events are counted. */
  readonly whenFull: 'refuse' | 'count';
  readonly lines: AuditLines;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A full disk would otherwise fill the other log, which may be on the same disk. */
const reportEveryMs = 60_000;

export class AuditLog implements AuditPort {
  readonly #options: AuditLogOptions;
  #lost = 0;
  #reportedAtMs: number | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  get policy(): AuditPolicy {
    return this.#options.policy;
  }

  get bodyBytesMax(): number {
    return this.#options.bodyBytesMax;
  }

  /** Number of events that nobody will read. */
  get lostEvents(): number {
    return this.#lost;
  }

  /**
   * The second half of the queue is for changes that the node has carried out: those that ran already when the log began to fail, and Revocations. Reads and refused
   * requests, which anybody can send without end, get the first half. So they can't displace the event of a change.
   */
  write(event: AuditEvent): void {
    const { lines } = this.#options;
    if ((isCarriedOut(event) || !lines.isFilling) && lines.write(`${jsonText(event)}\n`)) return;
    this.#lost += 1;
    this.#report();
  }

  /** A queue that fills has a reader or a disk that is too slow. So requests are refused before the queue is full, and no event of theirs is lost. */
  refusal(): string | undefined {
    const { whenFull, lines } = this.#options;
    if (whenFull === 'count') return undefined;
    if (lines.trouble !== undefined) return `the audit log can't be written: ${lines.trouble}`;
    return lines.isFilling ? 'the audit log is written too slowly' : undefined;
  }

  #report(): void {
    const { clock, log, lines } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#reportedAtMs !== undefined && nowMs - this.#reportedAtMs < reportEveryMs) return;
    this.#reportedAtMs = nowMs;
    log.error({ lostEvents: this.#lost, reason: lines.trouble ?? 'the queue is full' }, 'audit events are lost');
  }
}
