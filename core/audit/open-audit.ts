/** Opens the audit log that a configuration describes. The one file of this room that reads and writes files. */
import { Counter, type Registry } from 'prom-client';
import type { Clock } from '../runtime/clock.ts';
import { readBytes } from '../runtime/config-file.ts';
import { LineQueue } from '../runtime/line-queue.ts';
import { outputTarget, RotatedFile } from '../runtime/line-targets.ts';
import type { Logger } from '../runtime/logger.ts';
import { type Random, uuid } from '../runtime/random.ts';
import type { AuditConfig } from './audit-config.ts';
import { AuditLog } from './audit-log.ts';
import type { AuditPort } from './audit-port.ts';
import type { AuditPolicy } from './policy.ts';
import { defaultAuditPolicy, parseAuditPolicy } from './policy-file.ts';

export interface OpenAudit extends AsyncDisposable {
  readonly port: AuditPort;
  newId(): string;
  /** Number of events that were lost. */
  lostEvents(): number;
}

/** Room for a few thousand events without bodies. */
const queueBytesMax = 8 * 2 ** 20;
const dayMs = 24 * 3_600_000;

/** Throws BadRequest for a policy file that can't be read or is wrong. */
export function openAudit(
  config: AuditConfig,
  { clock, random, log }: { readonly clock: Clock; readonly random: Random; readonly log: Logger },
): OpenAudit {
  const policy = auditPolicyOf(config);
  const { path: file, maxSize, maxBackups, maxAge, bodyBytesMax, whenFull } = config;
  const rotation = { fileMiB: maxSize, files: maxBackups + 1 };
  const ageMsMax = maxAge === undefined ? undefined : maxAge * dayMs;
  const target =
    file === undefined ? outputTarget(process.stdout) : new RotatedFile({ file, rotation, ageMsMax, clock });
  const lines = new LineQueue({ target, clock, queueBytesMax });
  const port = new AuditLog({ policy, bodyBytesMax, whenFull, lines, clock, log });
  return {
    port,
    newId: () => uuid(random),
    lostEvents: () => port.lostEvents,
    [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
  };
}

/** The policy of the file, or the default policy. */
export function auditPolicyOf({ policyFile }: Pick<AuditConfig, 'policyFile'>): AuditPolicy {
  if (policyFile === undefined) return defaultAuditPolicy;
  return parseAuditPolicy(readBytes(policyFile).toString('utf8'), policyFile);
}

export function measureAudit(registry: Registry, lostEvents: () => number): void {
  new Counter({
    name: 'banyan_audit_lost_events_total',
    help: 'Audit events that could not be written and are lost.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(lostEvents());
    },
  });
}
