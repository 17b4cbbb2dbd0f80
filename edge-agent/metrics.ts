/** The agent's metrics in the text format of Prometheus. The agent computes all values when a client asks for them, and stores none. */
import { Gauge, Registry } from 'prom-client';
import { measureAudit } from '../core/audit/open-audit.ts';
import type { SessionEnds } from '../core/session/session-ends.ts';
import { measureSessions } from '../core/session/session-metrics.ts';
import type { StreamCounts } from '../core/stream/stream-counts.ts';
import { measureStreams } from '../core/stream/stream-metrics.ts';
import type { LimitUse } from './limits/limit-use.ts';

export interface StandbyMeasured {
  storeBytes(): number;
  residentBytes(): number;
}

export interface Measured extends StandbyMeasured {
  /** Whether the agent may change its cluster. */
  isActive(): boolean;
  desiredObjects(): number;
  placements(): number;
  appliedObjects(): number;
  heldEntries(): number;
  quarantinedEntries(): number;
  isAttached(): boolean;
  readonly streams: StreamCounts;
  readonly sessionEnds: SessionEnds;
  rootAgeMs(): number;
  limitUses(): readonly LimitUse[];
  /** Absent: the agent has no audit log. */
  readonly lostAuditEvents?: (() => number) | undefined;
}

/** The metrics of an agent that waits to become active. */
export function standbyMetricsOf(measured: StandbyMeasured): () => Promise<string> {
  const registry = new Registry();
  measureProcess(gaugesIn(registry), { ...measured, isActive: () => false });
  return () => registry.metrics();
}

export function metricsOf(measured: Measured): () => Promise<string> {
  const registry = new Registry();
  const gauge = gaugesIn(registry);
  gauge('banyan_agent_desired_objects', 'Objects that placements want on this cluster.', measured.desiredObjects);
  gauge('banyan_agent_placements', 'Placements that want objects here.', measured.placements);
  gauge('banyan_agent_applied_objects', 'Objects that this agent has on record as applied.', measured.appliedObjects);
  gauge(
    'banyan_held_entries',
    'Entries that this node has and its parent lacks. They stay until a person approves their deletion.',
    measured.heldEntries,
  );
  gauge(
    'banyan_quarantined_entries',
    'Entries from the parent that do not match the form that their keys require. The agent uses the last valid form.',
    measured.quarantinedEntries,
  );
  gauge('banyan_agent_attached', '1 while there is a session with the parent.', () => Number(measured.isAttached()));
  measureStreams(registry, measured.streams);
  measureSessions(registry, { parent: measured.sessionEnds, rootAgeMs: measured.rootAgeMs });
  measureLimits(registry, measured);
  if (measured.lostAuditEvents) measureAudit(registry, measured.lostAuditEvents);
  measureProcess(gauge, measured);
  return () => registry.metrics();
}

type MakeGauge = (name: string, help: string, value: () => number) => void;

function gaugesIn(registry: Registry): MakeGauge {
  return (name, help, value) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  };
}

function measureProcess(gauge: MakeGauge, measured: StandbyMeasured & Pick<Measured, 'isActive'>): void {
  gauge(
    'banyan_agent_active',
    '1 while this agent may change its cluster; of several agents with one identity, only one may.',
    () => Number(measured.isActive()),
  );
  gauge('banyan_store_used_bytes', 'Bytes of the store on disk.', measured.storeBytes);
  gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', measured.residentBytes);
}

/** The value for each limit, labelled with the field of the configuration that sets it. */
function measureLimits(registry: Registry, { limitUses }: Measured): void {
  const gauge = (name: string, help: string, value: (use: LimitUse) => number | undefined) =>
    new Gauge({
      name,
      help,
      labelNames: ['limit'],
      registers: [registry],
      collect() {
        for (const use of limitUses()) {
          const current = value(use);
          if (current !== undefined) this.set({ limit: use.field }, current);
        }
      },
    });
  gauge('banyan_agent_limit', "The agent's own limits, in bytes, requests, or requests a second.", ({ max }) => max);
  gauge('banyan_agent_limit_used', 'How much of each limit is used.', ({ used }) => used);
  gauge(
    'banyan_agent_limit_waited_seconds',
    'Seconds that requests have waited for each limit so far, added up.',
    ({ waitedMs }) => (waitedMs === undefined ? undefined : waitedMs / 1_000),
  );
}
