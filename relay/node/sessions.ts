/** The sessions of a node with its children and its parent, and where byte streams meet between them. */
import type { ChildSession } from '../../core/session/child-session.ts';
import { ParentSessions } from '../../core/session/parent-sessions.ts';
import type { StreamRouter } from '../../core/stream/router.ts';
import type { StreamCounts } from '../../core/stream/stream-counts.ts';
import type { NodeConfig } from '../config/config.ts';
import { nodeStreams } from '../remote-access/streams.ts';
import type { NodeParts } from './node-parts.ts';
import type { NodePorts } from './node-ports.ts';
import { nodeUplink } from './uplink.ts';

export function sessionsBelow(config: NodeConfig, ports: NodePorts, parts: NodeParts): ParentSessions {
  const { store, clock, random, log, software, soon } = ports;
  return new ParentSessions({
    soon,
    store,
    clock,
    random,
    log,
    software,
    path: config.path,
    feedsOf: (t, child, role) => {
      const feeds = parts.ground().book.feedsOf(t, child, role);
      parts.guard().tell(t, feeds.producer);
      parts.down().arrivals.begin(child);
      parts.loop().poke();
      return feeds;
    },
    ready: (child) => parts.readiness().down(child) && parts.down().arrivals.mayFollow(child),
    putBack: () => {
      store.write((t) => parts.down().unheard.begin(t));
      if (parts.uplink()) parts.readiness().putBack();
    },
    hasOtherHistory: (child, wasPutBack) => {
      parts.ground().groups.hasOtherHistory(child);
      parts.down().hasOtherHistory(child, wasPutBack);
      // A parent with siblings is compared by its watermarks.
      const isAlone = parts.uplink() !== undefined && !parts.ground().place.hasReplicas;
      if (isAlone && parts.readiness().hasOtherHistory(child)) {
        const reason = 'it has rows of another history: it keeps what it has until the parent was heard';
        log.info({ child, reason }, 'a child waits');
      }
    },
    applied: (t, child, changes) => parts.flows().fromBelow(t, child, changes),
    committed: (child, changes) => parts.flows().fromBelowCommitted(child, changes),
    siblings: parts.ground().place,
    watermarks: () => parts.teller().covered,
    // Not sooner: what is read just before would be shown until the child says something else.
    acknowledgementStored: (child) => parts.reports().poke(child),
    heardOut: (child) => {
      parts.down().heardOut(child);
      parts.loop().poke();
    },
    caughtUp: (child) => {
      parts.down().arrived(child);
      parts.reports().poke(child);
      parts.loop().poke();
    },
    connected: (child) => parts.flows().connectionChanged(child),
    disconnected: (child) => parts.flows().connectionChanged(child),
    alarmChanged: (child) => parts.reports().poke(child),
    rootAgeMs: () => parts.uplink()?.rootAgeMs() ?? 0,
    streamsOf: (child, link) => parts.streams().sessionWith({ child }, link),
  });
}

export function sessionAbove(config: NodeConfig, ports: NodePorts, parts: NodeParts): ChildSession | undefined {
  const { parent, path } = config;
  if (!parent) return undefined;
  return nodeUplink(path, parent, ports, parts.ground(), {
    applied: (t, changes) => parts.flows().fromAbove(t, changes),
    passed: (t) => parts.ground().place.fromAbove(t, []),
    committed: (changes) => parts.flows().fromAboveCommitted(changes),
    attaching: (t) => parts.guard().attaching(t),
    connected: () => {
      parts.reports().poke();
      parts.loop().poke();
    },
    disconnected: () => parts.reports().poke(),
    unreachedChanged: () => parts.reports().poke(),
    alarmChanged: () => parts.reports().poke(),
    caughtUp: () => {
      parts.readiness().caughtUp();
      parts.down().mover.receivedFromParent();
      parts.ground().place.say();
      parts.loop().poke();
    },
    putBack: () => {
      ports.store.write((t) => parts.down().unheard.begin(t));
      parts.readiness().putBackBelow();
    },
    ready: () => parts.readiness().up,
    watermarksReached: () => parts.loop().poke(),
    streamsOf: (link) => parts.streams().sessionWith('parent', link),
  });
}

export function streamsBetween(
  config: NodeConfig,
  ports: NodePorts,
  parts: NodeParts,
  streamCounts: StreamCounts,
): StreamRouter {
  const { clock, software } = ports;
  const { path, parent, streams } = config;
  return nodeStreams({
    path,
    software,
    clock,
    observer: streamCounts,
    fromBelow: streams?.fromBelow ?? false,
    notReady: () => parts.readiness().notReady(),
    knows: (child) => parts.ground().book.children.has(child),
    child: (name) => parts.sessions().streams(name),
    siblings: (name, below) => parts.ground().groups.nearest(name, below),
    connection: (child) => parts.sessions().status(child),
    parent: () => (parent ? parts.uplink()?.streams : 'none'),
  });
}
