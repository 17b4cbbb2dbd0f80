/** Makes the room that reports on this node and the nodes below it, and the room that prevents accidental deletions. */

import { deletionLimits } from '../../core/feed/deletions.ts';
import { authorityOfChain } from '../../core/identity/trusted-authorities.ts';
import type { NodeConfig } from '../config/config.ts';
import { GuardRoom } from '../guard/guard-room.ts';
import { NodeReports } from '../inventory-status/node-reports.ts';
import type { Placement } from '../placements/placement.ts';
import { markDirty } from '../work/dirty.ts';
import { childrenBeyondQuota, heldEntries, quarantinedEntries } from './metrics.ts';
import type { NodeParts } from './node-parts.ts';
import type { NodePorts } from './node-ports.ts';
import type { NodeState } from './node-state.ts';

export function reportsOf(config: NodeConfig, ports: NodePorts, parts: NodeParts): NodeReports {
  const { store, clock, software } = ports;
  const { spaces, childRegistry, mailboxes, outbox } = parts.nodeState();
  return new NodeReports({
    space: spaces.system,
    path: config.path,
    software,
    labels: config.labels,
    advertised: config.advertise,
    clock,
    children: childRegistry.children,
    inventories: () => spaces.inventories(),
    mailboxes,
    store,
    outbox,
    connection: (child) => parts.sessions().status(child),
    replicas: parts.nodeState().replicas,
    attached: () => parts.uplink()?.connected,
    unreached: () => parts.uplink()?.unreached,
    certificateTrouble: () => ports.renewal?.trouble,
    trust: () => {
      const own = ports.trust?.report();
      if (!own || !ports.trust) return undefined;
      const authorities = ports.trust.trusted;
      const signing = ports.signer?.chains().map((chain) => authorityOfChain(chain, authorities)) ?? [];
      return { own, authorities, inUse: [own.authority, ...signing] };
    },
    diverged: () => parts.uplink()?.alarm.present,
    waiting: () => parts.uplink()?.waiting,
    waits: (child) => parts.down().childCatchUpGate.waits(child),
    rootAgeMs: () => parts.uplink()?.rootAgeMs() ?? 0,
    guarded: (reader) => parts.guard().guarded(reader),
    heldInMailbox: (reader, child) => parts.guard().heldInMailbox(reader, child),
    refusedClaims: (child) => parts.nodeState().claims.refusedOf(child),
  });
}

export function guardOf(config: NodeConfig, ports: NodePorts, parts: NodeParts): GuardRoom {
  const { store, clock, log, noteAct } = ports;
  const { spaces, upstream, outbox, mailboxes } = parts.nodeState();
  return new GuardRoom({
    path: config.path,
    store,
    clock,
    log,
    noteAct,
    spaces,
    upstream,
    outbox,
    mailboxes,
    reportOf: (reader, child, path) => parts.reports().reportOf(reader, child, path),
    enqueue: (act) => parts.loop().enqueue(act),
    released: (t, changes) => parts.feedEventRouter().receivedFromParent(t, changes),
    limits: config.limits?.deletions ?? deletionLimits,
    measured: {
      held: (entries) => heldEntries.set(entries),
      quarantined: (entries) => quarantinedEntries.set(entries),
      short: (children) => childrenBeyondQuota.set(children),
    },
    quarantinedWork: () => parts.down().guard.quarantinedWork(),
    placementsOf: (child) => placementsOf(parts.nodeState(), child),
    labelsReleased: (t, child) => {
      markDirty(t, 'child', child);
      parts.nodeState().childRegistry.widen(t, child);
    },
  });
}

function placementsOf({ placements }: NodeState, child: string): Placement[] {
  return [...placements.ofChild(child)].flatMap((id) => placements.get(id) ?? []);
}
