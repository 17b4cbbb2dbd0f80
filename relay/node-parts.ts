/** The parts of a node, for those of them that call each other back: each is asked for when something comes, when all are made. */
import type { ChildSession } from '../core/session/child-session.ts';
import type { ParentSessions } from '../core/session/parent-sessions.ts';
import type { StreamRouter } from '../core/stream/router.ts';
import type { Flows } from './flows.ts';
import type { Ground } from './ground.ts';
import type { GuardRoom } from './guard/guard-room.ts';
import type { ScheduleLoop } from './schedule/loop.ts';
import type { NodeReports } from './tree/node-reports.ts';
import type { Readiness } from './tree/readiness.ts';
import type { Recounts } from './tree/recounts.ts';
import type { WatermarkTeller } from './tree/watermark-teller.ts';
import type { WayDown } from './way-down.ts';
import type { WayUp } from './way-up.ts';

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
