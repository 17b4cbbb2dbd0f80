/** The metrics of a node's process, in the text format of Prometheus. */

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { measureAudit } from '../../core/audit/open-audit.ts';
import { type MeasuredSessions, measureSessions } from '../../core/session/session-metrics.ts';
import type { StreamCounts } from '../../core/stream/stream-counts.ts';
import { measureStreams } from '../../core/stream/stream-metrics.ts';
import type { Renewal } from '../../core/wire/join/renewal.ts';

const registry = new Registry();
let collectsDefaults = false;

export function processMetrics(): Promise<string> {
  if (!collectsDefaults) collectDefaultMetrics({ register: registry });
  collectsDefaults = true;
  return registry.metrics();
}

/** Registers the metrics of sessions and byte streams. Called once in a process, because a process is one node. */
export function measureNode(
  node: {
    readonly streamCounts: StreamCounts;
    readonly sessionEnds: MeasuredSessions;
  },
  lostAuditEvents?: () => number,
  renewal?: Pick<Renewal, 'trouble'>,
): void {
  if (renewal) measureRenewal(renewal);
  if (lostAuditEvents) measureAudit(registry, lostAuditEvents);
  measureSessions(registry, node.sessionEnds);
  measureStreams(registry, node.streamCounts);
}

function measureRenewal(renewal: Pick<Renewal, 'trouble'>): void {
  new Gauge({
    name: 'banyan_certificate_trouble',
    help: '1 while the renewal of the certificate of this node is due and has not happened.',
    registers: [registry],
    collect() {
      this.set(renewal.trouble ? 1 : 0);
    },
  });
}

/** Counts the objects that are customized for their destinations. */
export const customizations = {
  evaluated: new Counter({
    name: 'banyan_customize_evaluations_total',
    help: 'Objects that were evaluated for a destination.',
    registers: [registry],
  }),
  known: new Counter({
    name: 'banyan_customize_hits_total',
    help: 'Objects that needed no evaluation, because the values that they read had been evaluated before.',
    registers: [registry],
  }),
};

export const heldEntries = new Gauge({
  name: 'banyan_held_entries',
  help: 'Entries that this node has and its parent lacks. They stay until a person approves their deletion.',
  registers: [registry],
});

export const quarantinedEntries = new Gauge({
  name: 'banyan_quarantined_entries',
  help: 'Entries from the parent or from children that do not match the form that their keys require. The node uses the last valid form.',
  registers: [registry],
});

export const refusedClaims = new Counter({
  name: 'banyan_refused_claims_total',
  help: 'Labels and properties of subtrees that children reported and may not claim. They have no effect.',
  registers: [registry],
});

export const childrenBeyondQuota = new Gauge({
  name: 'banyan_children_beyond_quota',
  help: 'Children that report more than their quota allows. What is beyond the quota is refused.',
  registers: [registry],
});
