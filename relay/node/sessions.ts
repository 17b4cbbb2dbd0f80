/** The sessions of a node with its children and its parent, and the router that connects the byte streams of these sessions. */
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import type { ChildSession } from '../../core/session/child-session.ts';
import { ParentSessions } from '../../core/session/parent-sessions.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import type { StreamCounts } from '../../core/stream/stream-counts.ts';
import type { NodeConfig } from '../config/config.ts';
import { crossingRefusal } from '../remote-access/crossing.ts';
import { nodeStreams } from '../remote-access/streams.ts';
import { childShownTopic, connectionTopic, ownNodeTopic, workTopic } from '../work/topics.ts';
import type { NodeParts } from './node-parts.ts';
import type { NodePorts } from './node-ports.ts';
import { nodeUplink } from './uplink.ts';

export function sessionsBelow(config: NodeConfig, ports: NodePorts, parts: NodeParts): ParentSessions {
  const { store, clock, random, log, software, defer, noteAct } = ports;
  return new ParentSessions({
    refused:
      noteAct &&
      ((path, reason, message) => noteAct({ verb: 'attach', about: path, refused: { code: 403, reason, message } })),
    defer,
    store,
    clock,
    random,
    log,
    software,
    path: config.path,
    whyRevoked: (peer) => whyRefused(peer, ports, parts),
    feedsOf: (t, child, role) => {
      const feeds = parts.nodeState().childRegistry.feedsOf(t, child, role);
      parts.guard().sendGaps(t, feeds.producer);
      parts.down().childCatchUpGate.begin(child);
      t.announce(workTopic, 0);
      return feeds;
    },
    ready: (child) => parts.readiness().down(child) && parts.down().childCatchUpGate.mayFollow(child),
    putBack: () => {
      store.write((t) => parts.down().restoreBarrier.begin(t));
      if (parts.uplink()) parts.readiness().storeRestored();
    },
    hasOtherHistory: (child, wasRestored) => {
      parts.nodeState().replicas.hasOtherHistory(child);
      parts.down().hasOtherHistory(child, wasRestored);
      // If this node has replicas, the child compares watermarks instead.
      const isAlone = parts.uplink() !== undefined && !parts.nodeState().replicas.hasReplicas;
      if (isAlone && parts.readiness().hasOtherHistory(child)) {
        const reason =
          "the child has rows of another store incarnation: the child keeps its rows until this node has received its parent's feed";
        log.info({ child, reason }, 'a child waits');
      }
    },
    applied: (t, child, changes) => parts.feedEventRouter().receivedFromChild(t, child, changes),
    replicas: parts.nodeState().replicas.attachWatch,
    watermarks: () => parts.watermarkPublisher().covered,
    // This is not done at `acknowledged`: at that time the store still has the old value, and the Node object would show it until the child's next report.
    acknowledgementStored: (child) => store.announce(childShownTopic, [child]),
    reportedAll: (child) => {
      parts.down().availableReportsStored(child);
      store.announce(workTopic, [0]);
    },
    caughtUp: (child) => {
      parts.down().reportsStored(child);
      store.announce(childShownTopic, [child]);
      store.announce(workTopic, [0]);
    },
    connected: (child) => store.announce(connectionTopic, [child]),
    disconnected: (child) => store.announce(connectionTopic, [child]),
    alarmChanged: (child) => store.announce(childShownTopic, [child]),
    rootAgeMs: () => parts.uplink()?.rootAgeMs() ?? 0,
    streamsOf: (child, link) => parts.streams().sessionWith({ child }, link),
  });
}

export function sessionAbove(config: NodeConfig, ports: NodePorts, parts: NodeParts): ChildSession | undefined {
  const { parent, path } = config;
  const { store } = ports;
  if (!parent) return undefined;
  const ownNodeChanged = () => store.announce(ownNodeTopic, ['self']);
  return nodeUplink(path, parent, ports, parts.nodeState(), {
    whyRevoked: (peer) => whyRefused(peer, ports, parts),
    applied: (t, changes) => parts.feedEventRouter().receivedFromParent(t, changes),
    passed: (t) => parts.nodeState().replicas.received(t, 'parent', []),
    attaching: (t) => parts.guard().attaching(t),
    connected: () => {
      ownNodeChanged();
      store.announce(workTopic, [0]);
    },
    disconnected: ownNodeChanged,
    unreachedChanged: ownNodeChanged,
    alarmChanged: ownNodeChanged,
    caughtUp: () => {
      parts.readiness().caughtUp();
      parts.down().mover.receivedFromParent();
      parts.nodeState().replicas.settle();
      store.announce(workTopic, [0]);
    },
    putBack: () => {
      store.write((t) => parts.down().restoreBarrier.begin(t));
      parts.readiness().storeRestoredPerParent();
    },
    ready: () => parts.readiness().up,
    watermarksReached: () => store.announce(workTopic, [0]),
    streamsOf: (link) => parts.streams().sessionWith('parent', link),
  });
}

/** Why the certificate of a neighbour does not count any more. */
function whyRefused(peer: PeerIdentity, { trust }: NodePorts, parts: NodeParts): string | undefined {
  return parts.nodeState().spaces.revocations.whyRevoked(peer) ?? trust?.whyUntrusted(peer);
}

export function streamsBetween(
  config: NodeConfig,
  ports: NodePorts,
  parts: NodeParts,
  streamCounts: StreamCounts,
): StreamRouter {
  const { clock, software } = ports;
  const { path, parent, streams, access } = config;
  return nodeStreams({
    path,
    software,
    clock,
    observer: streamCounts,
    fromBelow: streams?.fromBelow ?? false,
    refusal: crossingRefusal({ path, authorizer: parts.nodeState().spaces.authorizer, fromAbove: access.fromAbove }),
    notReady: () => parts.readiness().notReady(),
    knows: (child) => parts.nodeState().childRegistry.children.has(child),
    child: (name) => parts.sessions().streams(name),
    replicas: (name, below) => parts.nodeState().replicas.members(name, below),
    connection: (child) => parts.sessions().status(child),
    parent: () => (parent ? parts.uplink()?.streams : 'none'),
  });
}
