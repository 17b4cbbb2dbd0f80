/** The loop of the scheduler's work, and the steps that the node runs each time no work is left. */

import { ScheduleLoop } from '../schedule/loop.ts';
import type { NodeParts } from './node-parts.ts';
import type { NodePorts } from './node-ports.ts';

export function nodeLoop(ports: NodePorts, parts: NodeParts): ScheduleLoop {
  const { store, clock, log, defer } = ports;
  return new ScheduleLoop({
    store,
    clock,
    log,
    scheduler: parts.down().scheduler,
    guard: parts.down().guard,
    defer,
    before: () => [...parts.nodeState().spaces.contributing(), parts.nodeState().inventory],
    idle: () => {
      // These steps run before readiness: an acknowledgement, and the work of `down`, are part of what a ready feed has.
      if (parts.readiness().isCaughtUp) {
        parts.nodeState().labelSummaryAcknowledgement.acknowledge();
        parts.down().idle();
      }
      parts.readiness().idle();
      parts.nodeState().replicas.settle();
      parts.down().childCatchUpGate.idle();
      if (parts.loop().quiet) parts.down().allWorkedOff();
      parts.watermarkPublisher().idle();
    },
    failed: (error) => ports.fatal(error),
  });
}
