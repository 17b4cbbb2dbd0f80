/** Invariant 14: queues stay within their bounds: bytes on a line, timers of a process. */
import type { Check, World } from '../world.ts';
import { timersMax } from '../world.ts';

/** Two windows of half a MiB each way, a batch more, and what control frames add: see docs/protocol.md, "Links". */
const underWayMaxBytes = 1.5 * 1024 * 1024;

export function bounds(world: World): Check {
  const name = 'queues stay within their bounds';
  return {
    name,
    sent(connection, from) {
      const end = connection.end(from);
      if (end.queuedBytes() > underWayMaxBytes) {
        world.violation(
          name,
          `${connection.host(from).title} has ${end.queuedBytes()} bytes under way on one connection`,
        );
      }
      const { life, title } = connection.host(from);
      if (life.pending > timersMax) world.violation(name, `${title} has ${life.pending} timers`);
    },
  };
}
