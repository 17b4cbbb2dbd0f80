/** Metrics of sessions, in the text format of Prometheus. They are computed when somebody reads them. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { SessionEnds } from './session-ends.ts';

export interface MeasuredSessions {
  /** Present at a node with children. */
  readonly children?: SessionEnds | undefined;
  /** Present at a node with a parent. */
  readonly parent?: SessionEnds | undefined;
  /** Age of the root's newest report. Absent at the root. */
  readonly rootAgeMs?: (() => number) | undefined;
}

export function measureSessions(registry: Registry, { children, parent, rootAgeMs }: MeasuredSessions): void {
  new Counter({
    name: 'banyan_session_ends_total',
    help: 'Sessions that were established and are over, by the peer (child or parent) and by the reason.',
    labelNames: ['peer', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of children?.by ?? []) this.inc({ peer: 'child', reason }, count);
      for (const [reason, count] of parent?.by ?? []) this.inc({ peer: 'parent', reason }, count);
    },
  });
  new Counter({
    name: 'banyan_session_refusals_total',
    help: 'Connections between nodes on which no session began, by the peer (child or parent) and by the reason.',
    labelNames: ['peer', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of children?.refused ?? []) this.inc({ peer: 'child', reason }, count);
      for (const [reason, count] of parent?.refused ?? []) this.inc({ peer: 'parent', reason }, count);
    },
  });
  if (parent) {
    new Counter({
      name: 'banyan_dial_failures_total',
      help: 'Dials of the parent that led to no connection, by the reason; the error text is in the log and in the status of the Node.',
      labelNames: ['reason'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [reason, count] of parent.undialed) this.inc({ reason }, count);
      },
    });
  }
  if (!rootAgeMs) return;
  new Gauge({
    name: 'banyan_root_age_seconds',
    help: 'Seconds since the last report of the root, passed from parent to child in beats. More than 20 s a level: beats are late.',
    registers: [registry],
    collect() {
      this.set(rootAgeMs() / 1000);
    },
  });
}
