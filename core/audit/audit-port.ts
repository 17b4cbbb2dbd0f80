/** The log as the rest of the program sees the log. */
import type { AuditEvent } from './event.ts';
import type { AuditPolicy } from './policy.ts';

export interface AuditPort {
  readonly policy: AuditPolicy;
  /** Bytes of a body from which on the event has an annotation instead of the body. */
  readonly bodyBytesMax: number;
  /** Never waits and never throws. */
  write(event: AuditEvent): void;
  /** Why writes of users must be refused now. Undefined: they need not be refused. */
  refusal(): string | undefined;
}
