/** The parts of a node, for parts that call each other. A part asks for another one when a change arrives, because by then the node has made all of them. */
import type { ChildSession } from '../../core/session/child-session.ts';
import type { ParentSessions } from '../../core/session/parent-sessions.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import type { WatermarkPublisher } from '../catch-up/watermark-publisher.ts';
import type { ChildQuestions } from '../fleet/child-questions.ts';
import type { Fleets } from '../fleet/fleets.ts';
import type { GuardRoom } from '../guard/guard-room.ts';
import type { NodeReports } from '../inventory-status/node-reports.ts';
import type { ScheduleLoop } from '../schedule/loop.ts';
import type { Downsync } from './downsync.ts';
import type { FeedEventRouter } from './feed-event-router.ts';
import type { NodeApi } from './node-ports.ts';
import type { NodeState } from './node-state.ts';
import type { Readiness } from './readiness.ts';
import type { StatusAggregation } from './status-aggregation.ts';

export interface FleetParts {
  readonly fleets: Fleets;
  readonly questions: ChildQuestions;
}

export interface NodeParts {
  nodeState(): NodeState;
  down(): Downsync;
  up(): StatusAggregation;
  loop(): ScheduleLoop;
  feedEventRouter(): FeedEventRouter;
  readiness(): Readiness;
  sessions(): ParentSessions;
  /** Undefined: this node is the root. */
  uplink(): ChildSession | undefined;
  reports(): NodeReports;
  watermarkPublisher(): WatermarkPublisher;
  guard(): GuardRoom;
  streams(): StreamRouter;
  fleet(): FleetParts;
  api(): NodeApi;
}
