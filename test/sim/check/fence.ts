/** Invariant 9: a stale session sequence commits nothing. */
import type { Check, World } from '../world.ts';
import { isIn, Rows, tableIdOf } from './rows.ts';

export function fence(world: World): Check {
  const name = 'a stale session commits nothing';
  /** The newest session that was granted, by child. */
  const granted = new Map<string, number>();
  return {
    name,
    sent({ child, parent }, _from, { frame }) {
      if (frame?.$case !== 'welcome') return;
      const key = `${parent.title} ${child.id}`;
      const { sessionSequence } = frame.value;
      const before = granted.get(key) ?? 0;
      if (sessionSequence <= before) {
        world.violation(name, `${parent.title} grants session ${sessionSequence} to ${child.title} after ${before}`);
      }
      granted.set(key, sessionSequence);
    },
    // With its store it loses what it knew of sessions.
    replaced(host) {
      for (const key of granted.keys()) if (key.startsWith(`${host.title} `)) granted.delete(key);
    },
    committed(host, changes, before) {
      const { delivery } = world;
      if (delivery?.to !== 'parent' || delivery.connection.parent !== host) return;
      const { connection, frame } = delivery;
      const own = connection.sessionSequence;
      if (own === undefined || frame.frame?.$case === 'hello') return;
      const { name: child, id } = connection.child;
      Rows.of(before, (rows) => {
        const reported = rows.table(`reported/${child}`);
        const mailbox = rows.table(`mailbox/${child}`);
        const isOfSession = changes.some(
          ({ key }) =>
            (isIn(key, 'consumerState') && tableIdOf(key) === reported) ||
            (isIn(key, 'tableRow') && tableIdOf(key) === reported) ||
            (isIn(key, 'producerState') && tableIdOf(key) === mailbox && key.toString('utf8', 6) === 'progress'),
        );
        const newest = rows.session(id)?.sessionSequence;
        if (!isOfSession || newest === own) return;
        world.violation(name, `${host.title} commits for session ${own} of ${child}, ${newest} has taken its place`);
      });
    },
  };
}
