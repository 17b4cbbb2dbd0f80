/** The byte streams of an agent. They come from the parent, and end at the agent. */
import type { Clock } from '../../core/runtime/clock.ts';
import { echoEndpoint, echoKind } from '../../core/stream/echo.ts';
import { healthEndpoint, healthKind } from '../../core/stream/health.ts';
import { StreamRouter } from '../../core/stream/router.ts';
import { streamRules } from '../../core/stream/rules.ts';
import type { StreamObserver } from '../../core/stream/stream.ts';
import type { SessionStreams } from '../../core/stream/streams.ts';
import type { FromAbove } from '../cluster/from-above.ts';

export interface AgentStreamsPorts {
  readonly path: string;
  readonly version: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
  /** `access.fromAbove` of the configuration. */
  readonly fromAbove: FromAbove;
  /** The streams of the session with the parent. */
  parent(): SessionStreams | undefined;
}

const nothing =
  "this site gives no rights to users of nodes above: access.fromAbove of the agent's configuration is none";

export function agentStreams({ path, version, clock, observer, fromAbove, parent }: AgentStreamsPorts): StreamRouter {
  const router = new StreamRouter({
    path,
    clock,
    observer,
    authorize: streamRules({ path, fromBelow: false, refusal: () => (fromAbove === 'none' ? nothing : undefined) }),
    child: () => ({ known: false }),
    parent: () => {
      const streams = parent();
      return streams ? { streams } : { known: true };
    },
  });
  // An agent is ready after its first attachment. If a request arrives by a stream, the agent has been attached.
  router.register(
    healthKind,
    healthEndpoint(() => ({ path, role: 'agent', version, ready: true })),
  );
  router.register(echoKind, echoEndpoint);
  return router;
}
