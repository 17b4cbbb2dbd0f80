/** Shows the counts of streams as Prometheus metrics. Each scrape reads the counts. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { StreamCounts } from './stream-counts.ts';

export function measureStreams(registry: Registry, counts: StreamCounts): void {
  new Gauge({
    name: 'banyan_stream_ends_open',
    help: 'Ends of byte streams that are open at this node; a stream that passes through has two.',
    registers: [registry],
    collect() {
      this.set(counts.open);
    },
  });
  const byCode = (name: string, help: string, from: ReadonlyMap<string, number>) =>
    new Counter({
      name,
      help,
      labelNames: ['code'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [code, value] of from) this.inc({ code: code || 'none' }, value);
      },
    });
  byCode(
    'banyan_stream_ends_closed_total',
    'Ends of byte streams that are closed, by the code of the reset.',
    counts.closedBy,
  );
  byCode(
    'banyan_streams_refused_total',
    'Streams that this node turned away, by the code of its answer.',
    counts.refusedBy,
  );
}
