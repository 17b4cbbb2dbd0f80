/** The parts of a node, for those of them that call each other back: each is asked for when something comes, when all are made. */
import type { ChildSession } from '../../core/session/child-session.ts';
import type { ParentSessions } from '../../core/session/parent-sessions.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import type { GuardRoom } from '../guard/guard-room.ts';
import type { NodeReports } from '../inventory-status/node-reports.ts';
import type { Recounts } from '../replicas/recounts.ts';
import type { WatermarkTeller } from '../replicas/watermark-publisher.ts';
import type { ScheduleLoop } from '../schedule/loop.ts';
import type { WayDown } from './downsync.ts';
import type { Flows } from './feed-event-router.ts';
import type { Ground } from './node-state.ts';
import type { Readiness } from './readiness.ts';
import type { WayUp } from './status-aggregation.ts';

export interface NodeParts {
  ground(): Ground;
  down(): WayDown;
  up(): WayUp;
  loop(): ScheduleLoop;
  flows(): Flows;
  readiness(): Readiness;
  sessions(): ParentSessions;
  /** Of the root: none. */
  uplink(): ChildSession | undefined;
  reports(): NodeReports;
  recounts(): Recounts;
  teller(): WatermarkTeller;
  guard(): GuardRoom;
  streams(): StreamRouter;
}
