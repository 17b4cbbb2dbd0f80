/**
 * Invariant 8: a consumer's root watermark never decreases, even when the consumer attaches to another replica. The stored watermark of each source only
 * grows. The watermarks received in a session only grow. No consumer begins to follow a replica that has not stated at least the consumer's own watermarks.
 */
import type { Feed as FeedOf } from '../../../core/wire/generated/mesh.ts';
import { Feed } from '../../../core/wire/generated/mesh.ts';
import { isBelow } from '../model/expected.ts';
import { nodeOfSource } from '../plan/tree.ts';
import type { Connection } from '../sim-network.ts';
import type { Check, World } from '../world.ts';
import { isIn, type Marks, marksOf, Rows } from './rows.ts';

export function watermarks(world: World): Check {
  const name = 'a root watermark never decreases';
  /** The watermarks sent to a child on a connection. On another connection, older watermarks may be in flight. */
  const sentMarks = new WeakMap<Connection, Map<string, number>>();
  /** The watermarks that a child has received on a connection. */
  const receivedMarks = new WeakMap<Connection, Map<string, number>>();
  const resumes = new WeakSet<Connection>();
  /** Connections on which the child has begun to apply rows. From then on, the rows raise the child's own watermarks before the parent sends these. */
  const followed = new WeakSet<Connection>();
  return {
    name,
    committed(host, changes, before) {
      const change = changes.find(({ key }) => isIn(key, 'watermarks'));
      if (!change) return;
      const former = Rows.of(before, (rows) => rows.watermarks());
      const present = change.value ? marksOf(change.value) : { own: {}, complete: {} };
      for (const which of ['own', 'complete'] as const) {
        const less = lessIn(former[which], present[which]);
        if (less) world.violation(name, `${host.title}, ${which}: ${less}`);
      }
    },
    sent(connection, from, { frame }) {
      if (frame?.$case === 'welcome' && frame.value.downResumes) resumes.add(connection);
      if (frame?.$case === 'beat' && from === 'parent') {
        const before = sentMarks.get(connection) ?? new Map<string, number>();
        sentMarks.set(connection, before);
        for (const { source, revision } of frame.value.watermarks) {
          const sentRevision = before.get(source) ?? 0;
          if (revision < sentRevision) {
            world.violation(
              name,
              `${connection.parent.title} sends ${source} at ${revision}, it has sent ${sentRevision}`,
            );
          }
          before.set(source, Math.max(sentRevision, revision));
        }
      }
      if (frame?.$case === 'reconcileRequest' && from === 'child') look(connection, frame.value.feed);
    },
    received(connection, to, { frame }) {
      if (frame?.$case !== 'beat' || to !== 'child') return;
      const marks = receivedMarks.get(connection) ?? new Map<string, number>();
      receivedMarks.set(connection, marks);
      for (const { source, revision } of frame.value.watermarks) {
        marks.set(source, Math.max(marks.get(source) ?? 0, revision));
      }
    },
  };

  function look(connection: Connection, feed: FeedOf): void {
    const { child, parent } = connection;
    if (feed !== Feed.FEED_DOWN || (parent.planned.replicas ?? 1) === 1 || resumes.has(connection)) return;
    if (followed.has(connection)) return;
    followed.add(connection);
    const { own } = Rows.of(child.rows, (rows) => rows.watermarks());
    // If a node was moved, its watermarks of sources that are no longer above it do not concern this parent.
    const above = Object.entries(own).filter(([source]) => isBelow(child.path, nodeOfSource(source)));
    const less = lessIn(Object.fromEntries(above), Object.fromEntries(receivedOn(connection)));
    if (less) world.violation(name, `${child.title} follows ${parent.title}, which is behind: ${less}`);
  }

  /** The watermarks that the child has received on the connection, including those of the frame that is being delivered. */
  function receivedOn(connection: Connection): Map<string, number> {
    const marks = new Map(receivedMarks.get(connection));
    const { delivery } = world;
    if (delivery?.connection === connection && delivery.frame.frame?.$case === 'beat') {
      for (const { source, revision } of delivery.frame.frame.value.watermarks) {
        marks.set(source, Math.max(marks.get(source) ?? 0, revision));
      }
    }
    return marks;
  }
}

function lessIn(before: Marks, after: Marks): string | undefined {
  const source = Object.keys(before).find((one) => (after[one] ?? 0) < before[one]!);
  return source && `${source} at ${after[source] ?? 0} after ${before[source]}`;
}
