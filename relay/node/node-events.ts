/** What a node does in its turns: the events of its rooms, and the work of its scheduler. */

import { ScheduleLoop } from '../schedule/loop.ts';
import { markDirty } from '../work/dirty.ts';
import type { NodeParts } from './node-parts.ts';
import type { NodePorts } from './node-ports.ts';
import type { NodeEvents } from './node-state.ts';

export function nodeEvents(ports: NodePorts, parts: NodeParts): NodeEvents {
  return {
    wake: () => parts.loop().wake(),
    wakeIn: (ms) => parts.loop().wakeIn(ms),
    enqueue: (act) => parts.loop().enqueue(act),
    childRead: (name) => {
      parts.reports().wake(name);
      parts.readiness().childRead(name);
    },
    admitted: (id, children) => {
      parts.up().childrenChanged(children.map((child) => ({ id, child })));
      parts.loop().wake();
    },
    report: (ids) => parts.up().tell(ids),
    mailboxChanged: (child) => {
      parts.sessions().wake(child);
      parts.up().views.mailboxChanged(child);
      parts.reports().wake(child);
    },
    setAsideChanged: () => parts.reports().wake(),
    outboxChanged: () => parts.uplink()?.wake(),
    failed: (error) => ports.fatal(error),
    childLeft: (child) => {
      parts.sessions().disconnect(child, 'it was removed from the inventory');
      parts.up().views.mailboxChanged(child);
    },
    connection: (child) => parts.sessions().status(child),
    hasReceivedFromParent: () => !parts.uplink() || parts.readiness().hasReceivedFromParent,
    parentHasReplicas: () => parts.uplink()?.parentHasReplicas ?? false,
    replicasChanged: (children) => {
      parts.recounts().recount(children);
      // What they might not lose meanwhile.
      parts.loop().enqueue((t) => {
        for (const child of children) markDirty(t, 'child', child);
      });
    },
    recountChildren: (children) => parts.recounts().recountChildren(children),
    endSession: (child, reason) => parts.sessions().disconnect(child, reason),
    mayFollow: (children) => {
      parts.sessions().readyChanged(children);
      parts.reports().wake(...children);
    },
  };
}

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
    stepped: ({ changed, changedWith }) => {
      // What could not be made for an agent is part of what the agent adds to summaries.
      const made = parts.down().customization.takeChanged();
      parts.up().childrenChanged(made);
      parts.up().placementsChanged(changed);
      parts.up().placementsChangedWith(changedWith);
      const summed = new Set([...changed, ...changedWith.keys(), ...made.map(({ id }) => id)]);
      for (const id of summed) parts.down().mover.decide(id);
    },
    idle: () => {
      // Before it is said that all is here: it is part of that.
      if (parts.readiness().isCaughtUp) {
        parts.nodeState().matched.idle();
        parts.down().idle();
      }
      parts.readiness().idle();
      parts.nodeState().place.say();
      parts.down().childCatchUpGate.idle();
      if (parts.loop().quiet) parts.down().allWorkedOff();
      parts.watermarkPublisher().idle();
    },
    failed: (error) => ports.fatal(error),
  });
}
