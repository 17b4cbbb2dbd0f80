/** The byte streams of a node with children: the nodes to which it passes streams on, and the kinds that it serves itself. */

import type { Clock } from '../../core/runtime/clock.ts';
import type { SessionStatus } from '../../core/session/parent-ports.ts';
import { echoEndpoint, echoKind } from '../../core/stream/echo.ts';
import { fleetKind } from '../../core/stream/fleet-kind.ts';
import { healthEndpoint, healthKind, type NodeHealth } from '../../core/stream/health.ts';
import { type AdjacentNode, StreamRouter } from '../../core/stream/router.ts';
import { type StreamRulesPorts, streamRules } from '../../core/stream/rules.ts';
import type { StreamObserver } from '../../core/stream/stream.ts';
import type { SessionStreams } from '../../core/stream/streams.ts';

export interface NodeStreamsPorts {
  readonly path: string;
  readonly software: string;
  readonly clock: Clock;
  readonly observer: StreamObserver;
  /** Whether children may ask for streams to nodes that are not below them. */
  readonly fromBelow: boolean;
  /** Why the user of another node may not have the stream. */
  readonly refusal: StreamRulesPorts['refusal'];
  /** Returns why the node is not ready. Undefined: it is ready. */
  notReady(): string | undefined;
  knows(child: string): boolean;
  /** Returns the streams of the session with the child. Undefined: there is no session. */
  child(name: string): SessionStreams | undefined;
  /**
   * Returns all replicas of a child, the child among them. The replica to which the node `below` belongs comes first. Undefined: the child has no other
   * replicas.
   */
  replicas?(name: string, below?: string): readonly string[] | undefined;
  connection(child: string): SessionStatus;
  /** Returns the streams of the session with the parent. Undefined: there is no session. `none`: this node is the root. */
  parent(): SessionStreams | undefined | 'none';
}

export function nodeStreams(ports: NodeStreamsPorts): StreamRouter {
  const { path, clock, observer, fromBelow, refusal } = ports;
  const router = new StreamRouter({
    path,
    clock,
    observer,
    authorize: streamRules({ path, fromBelow, authorizedAbove: [fleetKind], refusal }),
    child: (name, below) => childOf(ports, name, below),
    parent: () => {
      const parent = ports.parent();
      if (parent === 'none') return undefined;
      return parent ? { streams: parent } : { known: true };
    },
  });
  router.register(
    healthKind,
    healthEndpoint(() => healthOf(ports)),
  );
  router.register(echoKind, echoEndpoint);
  return router;
}

function childOf(
  { child, clock, connection, knows, replicas }: NodeStreamsPorts,
  name: string,
  below?: string,
): AdjacentNode {
  const names = replicas?.(name, below) ?? [name];
  const [streams, ...others] = names.flatMap((one) => child(one) ?? []);
  if (streams) return { streams, others };
  const knownNames = names.filter((one) => knows(one));
  if (knownNames.length === 0) return { known: false };
  const heardAtMs = knownNames.flatMap((one) => connection(one).heardAtMs ?? []);
  if (heardAtMs.length === 0) return { known: true, isNew: true };
  return { known: true, silentMs: clock.wallMs() - Math.max(...heardAtMs) };
}

function healthOf({ path, software, notReady }: NodeStreamsPorts): NodeHealth {
  const why = notReady();
  const role = path === '' ? 'center' : 'relay';
  return { path, role, version: software, ready: why === undefined, ...(why === undefined ? {} : { notReady: why }) };
}
