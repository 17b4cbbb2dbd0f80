/**
 * After healing: each attached child has acknowledged its whole mailbox, and its parent has all entries of the child's outbox. A node also shows each mailbox
 * as it is, because people look there to see whether a child has everything. An entry that is written and not sent would wait for the next change, which may
 * never happen. The result is undefined if all this is true.
 */
import type { Space } from '../../../core/apiserver/space.ts';
import type { Host } from '../host.ts';
import type { World } from '../world.ts';
import { Rows } from './rows.ts';

interface Shown {
  readonly head: number;
  readonly acknowledged: number;
}

export function unsentWrong(world: World): string | undefined {
  for (const host of world.hosts.values()) {
    if (host.role === 'agent' || host.isGone) continue;
    const children = world.childrenOf(host);
    const attached = new Set(children.filter((child) => isAttached(world, host, child)));
    const wrong = Rows.of(host.rows, (rows) => wrongAt(host, children, attached, rows));
    if (wrong) return wrong;
  }
  return undefined;
}

/** Whether the child has a session over a line that is not dead. On a dead line, a session exists until its end is noticed. */
function isAttached(world: World, parent: Host, child: Host): boolean {
  if (world.network.line(child, parent).cut) return false;
  return [...world.network.open].some(
    (one) => one.child === child && one.parent === parent && one.sessionSequence !== undefined && world.isNewest(one),
  );
}

function wrongAt(host: Host, children: readonly Host[], attached: ReadonlySet<Host>, rows: Rows): string | undefined {
  const system = host.spaces.get('');
  if (!system) return `${host.title} does not serve`;
  for (const child of children) {
    const table = rows.table(`mailbox/${child.name}`);
    if (table === undefined) continue;
    const [head, acknowledged] = [rows.head(table), rows.acknowledged(table)];
    if (attached.has(child)) {
      if (acknowledged < head) return `${child.title} has acknowledged ${acknowledged} of ${head} to ${host.title}`;
      const [written, received] = [Rows.of(child.rows, outboxHead), receivedFrom(rows, child)];
      if (received < written) return `${host.title} has received ${received} of ${written} reports of ${child.title}`;
    }
    const shown = shownOf(system, child);
    if (shown?.head === head && shown.acknowledged === acknowledged) continue;
    return `${host.title} shows ${shown?.acknowledged} of ${shown?.head} as acknowledged by ${child.title}, it is ${acknowledged} of ${head}`;
  }
  return undefined;
}

function outboxHead(rows: Rows): number {
  const table = rows.table('outbox');
  return table === undefined ? 0 : rows.head(table);
}

function receivedFrom(rows: Rows, { name }: Host): number {
  const table = rows.table(`reported/${name}`);
  return (table === undefined ? undefined : rows.tuple(table)?.cursor) ?? 0;
}

/** The status of the child's Mailbox. In names of objects, another separator comes before the number of a replica. */
function shownOf(system: Space, { name }: Host): Shown | undefined {
  const key = { group: 'mesh.banyan.io', resource: 'mailboxes', namespace: '', name: name.replace('~', '--') };
  return (system.get(key) as { status?: Shown } | undefined)?.status;
}
