/**
 * Invariant 9: a stale session commits nothing. The check looks at every commit for a session. Rows and cursor of the child's reports must belong to the
 * session whose frame is being delivered. A recorded acknowledgement must have arrived in the session that the store names, at least in the Hello of this
 * session.
 */
import { Feed } from '../../../core/wire/generated/mesh.ts';
import type { Change } from '../disk.ts';
import type { Host } from '../host.ts';
import type { Check, World } from '../world.ts';
import { isIn, Rows, tableIdOf } from './rows.ts';

export function fence(world: World): Check {
  const name = 'a stale session commits nothing';
  /** The newest granted session of each child. */
  const granted = new Map<string, number>();
  /** The child's reported cursor. Keyed by session. */
  const reportedCursors = new Map<string, number>();
  return {
    name,
    sent({ child, parent }, _from, { frame }) {
      if (frame?.$case !== 'welcome') return;
      const key = `${parent.title} ${child.id}`;
      const { sessionSequence, downResumes } = frame.value;
      // The cursor in the Hello is from another history, so it does not count for this feed.
      if (!downResumes) reportedCursors.delete(`${key} ${sessionSequence}`);
      const before = granted.get(key) ?? 0;
      if (sessionSequence <= before) {
        world.violation(name, `${parent.title} grants session ${sessionSequence} to ${child.title} after ${before}`);
      }
      granted.set(key, sessionSequence);
    },
    receiving({ child, parent, sessionSequence }, to, { frame }) {
      if (to !== 'parent' || frame?.$case !== 'ack' || frame.value.feed !== Feed.FEED_DOWN) return;
      const key = `${parent.title} ${child.id} ${sessionSequence}`;
      reportedCursors.set(key, Math.max(reportedCursors.get(key) ?? 0, frame.value.cursor));
    },
    // A host that loses its store also loses its records of sessions.
    replaced(host) {
      for (const known of [granted, reportedCursors]) {
        for (const key of known.keys()) if (key.startsWith(`${host.title} `)) known.delete(key);
      }
    },
    committed(host, changes, before) {
      if (host.role === 'agent') return;
      noteHello(host, changes);
      const tables = new Set(changes.filter(isOfSession).map(({ key }) => tableIdOf(key)));
      if (tables.size === 0) return;
      Rows.of(before, (rows) => {
        for (const child of world.childrenOf(host)) {
          const { sessionSequence: newest } = rows.session(child.id) ?? {};
          const reported = rows.table(`reported/${child.name}`);
          if (reported !== undefined && tables.has(reported)) look(host, child, newest, { changes, table: reported });
          const mailbox = rows.table(`mailbox/${child.name}`);
          const cursor = mailbox !== undefined && tables.has(mailbox) ? cursorIn(changes, mailbox) : undefined;
          if (cursor === undefined) continue;
          const reportedCursor = reportedCursors.get(`${host.title} ${child.id} ${newest}`) ?? 0;
          if (cursor <= reportedCursor) continue;
          world.violation(
            name,
            `${host.title} records ${cursor} of ${child.id}; session ${newest} has reported ${reportedCursor}`,
          );
        }
      });
    },
  };

  /** Notes that a granted session has the cursor of its Hello. */
  function noteHello(host: Host, changes: readonly Change[]): void {
    const { connection, frame: { frame } = {} } = world.delivery ?? {};
    if (frame?.$case !== 'hello' || connection?.parent !== host) return;
    const record = changes.find(({ key, value }) => value && isIn(key, 'session'))?.value;
    if (!record) return;
    const { sessionSequence } = JSON.parse(record.toString()) as { sessionSequence: number };
    reportedCursors.set(`${host.title} ${connection.child.id} ${sessionSequence}`, frame.value.down?.cursor ?? 0);
  }

  /** `table`: the table of what the child reports. */
  function look(
    host: Host,
    child: Host,
    newest: number | undefined,
    { changes, table }: { readonly changes: readonly Change[]; readonly table: number },
  ): void {
    const { delivery } = world;
    // When a child leaves for good, its tables are removed.
    if (changes.some(({ key, value }) => value === undefined && isIn(key, 'tableName'))) return;
    if (delivery?.to !== 'parent' || delivery.connection.parent !== host || delivery.connection.child.id !== child.id) {
      if (areOnlyReleased(changes, table)) return;
      world.violation(name, `${host.title} commits to what ${child.id} reports, and no frame of it came`);
      return;
    }
    // The transaction that opens a session belongs to that session, although no peer has received the number of the session yet.
    if (delivery.frame.frame?.$case === 'hello' && changes.some(({ key }) => isIn(key, 'session'))) return;
    const { sessionSequence: own } = delivery.connection;
    if (own === newest) return;
    world.violation(name, `${host.title} commits for session ${own} of ${child.id}, ${newest} has taken its place`);
  }
}

/**
 * Whether the node takes only rows out of quarantine, which came in the newest session and were wrong until a rule of this node changed. No session takes part: its
 * cursor stays.
 */
function areOnlyReleased(changes: readonly Change[], table: number): boolean {
  const released = new Set(
    changes.filter(({ key, value }) => value === undefined && isIn(key, 'quarantined')).map(({ key }) => rowIn(key)),
  );
  return changes
    .filter((change) => isOfSession(change) && tableIdOf(change.key) === table)
    .every(({ key }) => isIn(key, 'tableRow') && released.has(rowIn(key)));
}

/** The table and the key of a row, without the two bytes of the keyspace. */
function rowIn(key: Buffer): string {
  return key.toString('hex', 2);
}

/** Whether the row belongs to a session: the cursor and rows of a consumer, and the cursor up to which a producer knows that rows are stored. */
function isOfSession({ key }: Change): boolean {
  if (isIn(key, 'consumerState') || isIn(key, 'tableRow')) return true;
  return isIn(key, 'producerState') && key.toString('utf8', 6) === 'progress';
}

function cursorIn(changes: readonly Change[], mailbox: number): number | undefined {
  const found = changes.find(
    ({ key, value }) =>
      value && isIn(key, 'producerState') && tableIdOf(key) === mailbox && key.toString('utf8', 6) === 'progress',
  );
  return found?.value?.readUIntBE(0, 6);
}
