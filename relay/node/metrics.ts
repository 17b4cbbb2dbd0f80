/** The metrics of a node's process, in the text format of Prometheus. */

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { type MeasuredSessions, measureSessions } from '../../core/session/session-metrics.ts';
import type { StreamCounts } from '../../core/stream/stream-counts.ts';
import { measureStreams } from '../../core/stream/stream-metrics.ts';

const registry = new Registry();
let collects = false;

export function processMetrics(): Promise<string> {
  if (!collects) collectDefaultMetrics({ register: registry });
  collects = true;
  return registry.metrics();
}

/** Of sessions and byte streams; once a process, which is one node. */
export function measureNode(node: {
  readonly streamCounts: StreamCounts;
  readonly sessionEnds: MeasuredSessions;
}): void {
  measureSessions(registry, node.sessionEnds);
  measureStreams(registry, node.streamCounts);
}

/** Of objects that are customized for their destinations. */
export const customizations = {
  evaluated: new Counter({
    name: 'banyan_customize_evaluations_total',
    help: 'Objects that were evaluated for a destination.',
    registers: [registry],
  }),
  known: new Counter({
    name: 'banyan_customize_hits_total',
    help: 'Objects that were not, because what they read had been evaluated before.',
    registers: [registry],
  }),
};

export const heldEntries = new Gauge({
  name: 'banyan_held_entries',
  help: 'Entries that this node keeps although its parent lacks them, until they are released.',
  registers: [registry],
});

export const quarantinedEntries = new Gauge({
  name: 'banyan_quarantined_entries',
  help: 'Entries from the parent and from children that are not what their keys say, and of which the last good form is kept.',
  registers: [registry],
});
