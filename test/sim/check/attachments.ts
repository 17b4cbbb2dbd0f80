/**
 * Invariant 10: at most one attachment of a child counts as fresh.
 *
 * - At a parent, only the newest session that it granted sends anything.
 *
 * - If a parent has replicas below it, it assigns each child to the replica to which the child attached with the highest received sequence. Among the
 *   replicas whose reports the parent counts, at most one owns the child. The fresh places in these reports are no more than the existing places. Replicas
 *   that are being reconciled do not count.
 *
 * - No partial ever reports more fresh places than exist.
 */
import type { Host } from '../host.ts';
import { isAtOrBelow } from '../plan/tree.ts';
import type { SimProcess } from '../sim-process.ts';
import type { Check, World } from '../world.ts';
import { isIn, Rows } from './rows.ts';

export function attachments(world: World): Check {
  const name = 'at most one attachment of a child counts';
  /** For each process of a parent: the newest session of each child. */
  const newest = new WeakMap<SimProcess, Map<string, number>>();
  /** Hosts whose rows are older than their reports. For these hosts, the check of sums reads the reports instead (totals.ts). */
  const putBack = new Set<Host>();
  return {
    name,
    sent(connection, from, { frame }) {
      const { child, parent } = connection;
      if (from === 'parent') {
        const simProcess = connection.simProcessOf('parent');
        const sessions = newest.get(simProcess) ?? new Map<string, number>();
        newest.set(simProcess, sessions);
        const own = connection.sessionSequence;
        if (frame?.$case === 'welcome') {
          sessions.set(child.id, frame.value.sessionSequence);
          // From now on, the copy has the identity. The rows of the original stay older, even when the original is admitted again.
          const original = world.hosts.get(child.id);
          if (child.isClone && original) putBack.add(original);
        }
        const last = sessions.get(child.id);
        if (own !== undefined && frame?.$case !== 'goodbye' && last !== undefined && last > own) {
          world.violation(name, `${parent.title} continues session ${own} of ${child.id} beside ${last}`);
        }
        return;
      }
      if (frame?.$case !== 'batch' && frame?.$case !== 'reconcileReply') return;
      const places = placesOf(world, child.path);
      for (const { key, body, tombstone } of frame.value.entries) {
        if (tombstone || !key.startsWith('partial/')) continue;
        const { counts } = JSON.parse(body.toString()) as { counts: Record<string, number> };
        if ((counts.fresh ?? 0) <= places) continue;
        world.violation(name, `${child.title} reports ${key} with ${counts.fresh} fresh places, there are ${places}`);
      }
    },
    replaced: (host) => void putBack.add(host),
    committed(host, changes) {
      const isOfOwners = changes.some(({ key }) => isIn(key, 'replicaGroup') || isIn(key, 'replicaChild'));
      if (changes.some(({ key }) => isIn(key, 'tableRow') || isIn(key, 'consumerState')))
        for (const first of placesBelow(world, host)) addUp(host, first);
      const hasNewReports = (host.planned.replicas ?? 1) > 1 && changes.some(({ key }) => isIn(key, 'tableRow'));
      if (isOfOwners) {
        for (const first of placesBelow(world, host)) {
          lookAt(host, first);
          const wrong = olderAttachment(world, host, first);
          if (wrong) world.violation(name, wrong);
        }
      }
      if (hasNewReports) {
        const [first] = replicasOf(world, host);
        for (const ancestor of world.parentsOf(host)) if (first) lookAt(ancestor, first);
      }
    },
  };

  function addUp(ancestor: Host, first: Host): void {
    const wrong = tooManyFresh(world, ancestor, first);
    if (wrong) world.violation(name, wrong);
  }

  /** `first` is the first of several replicas. */
  function lookAt(ancestor: Host, first: Host): void {
    if (putBack.has(ancestor)) return;
    const counted = replicasOf(world, first).filter((replica) => !putBack.has(replica) && isCounted(ancestor, replica));
    const children = world.childrenOf(first).map((child) => child.name);
    for (const child of children) {
      const owners = counted.filter((replica) => owns(replica, child));
      if (owners.length < 2) continue;
      const titles = owners.map(({ title }) => title).join(' and ');
      world.violation(name, `${titles} both count ${child}, and ${ancestor.title} counts both`);
    }
  }
}

/** Returns a message if the parent assigns a child to another replica than the one to which the child attached with the highest received sequence. */
function olderAttachment(world: World, ancestor: Host, first: Host): string | undefined {
  const replicas = replicasOf(world, first);
  return Rows.of(ancestor.rows, (rows) => {
    for (const { name: child } of world.childrenOf(first)) {
      const held = rows.replicaChild(first.name, child);
      if (!held || held.gone) continue;
      const received = replicas.map(({ name }) =>
        rows.attributes<{ sequence: number }>(`reported/${name}`, `attach/${child}`),
      );
      const knownSequence = Math.max(held.sequence, received[held.at]?.sequence ?? 0);
      const at = received.findIndex((reported) => reported !== undefined && reported.sequence > knownSequence);
      if (at < 0) continue;
      const titles = [held.at, at].map((replica) => replicas[replica]?.title);
      return `${ancestor.title} takes ${child} to be at ${titles[0]}, which reported sequence ${knownSequence}; ${titles[1]} reported ${received[at]?.sequence}`;
    }
    return undefined;
  });
}

/** Adds up the reports of the replicas as their parent does. Returns a message if the sum has more fresh places than there are. */
function tooManyFresh(world: World, ancestor: Host, first: Host): string | undefined {
  const fresh = new Map<string, number>();
  for (const replica of replicasOf(world, first)) {
    if (!isCounted(ancestor, replica) || isBetween(ancestor, replica)) continue;
    const partials = Rows.of(ancestor.rows, (rows) => rows.bodies(`reported/${replica.name}`, 'partial/'));
    for (const [key, body] of partials) {
      const { counts } = JSON.parse(body) as { counts: Record<string, number> };
      fresh.set(key, (fresh.get(key) ?? 0) + (counts.fresh ?? 0));
    }
  }
  const places = placesOf(world, first.path);
  const key = [...fresh.keys()].find((one) => fresh.get(one)! > places);
  return (
    key && `of ${key} ${ancestor.title} has ${fresh.get(key)} fresh places from ${first.path}, there are ${places}`
  );
}

function placesOf(world: World, path: string): number {
  return [...world.hosts.values()].filter((host) => host.role === 'agent' && isAtOrBelow(host.path, path)).length;
}

/** Whether the ancestor counts the replica's reports: it has received from the replica the term that it requires. */
function isCounted(ancestor: Host, replica: Host): boolean {
  return Rows.of(ancestor.rows, (rows) => {
    const group = rows.replicaGroup(replica.planned.path.slice(replica.planned.path.lastIndexOf(':') + 1));
    return (group?.reportedTerms?.[replica.replica] ?? 0) >= (group?.requiredTerms[replica.replica] ?? 0);
  });
}

/**
 * Whether the ancestor is reconciling the replica's reports. Its rows of the replica are then from two histories, and arrive in any order. The term, which
 * would exclude the replica, may arrive last. Meanwhile, totals.ts checks what the ancestor reports.
 */
function isBetween(ancestor: Host, replica: Host): boolean {
  return Rows.of(ancestor.rows, (rows) => {
    const id = rows.table(`reported/${replica.name}`);
    const tuple = id === undefined ? undefined : rows.tuple(id);
    return tuple !== undefined && tuple.epoch !== '' && tuple.incarnation === '';
  });
}

/** Whether the replica owns the child, by the replica's own rows. */
function owns(replica: Host, child: string): boolean {
  return Rows.of(replica.rows, (rows) => {
    const held = rows.attributes<{ owner: number; granted: boolean }>('upstream', `owner/${child}`);
    if (held) return held.owner === replica.replica && held.granted;
    // A replica that has received no decision yet has not reported anything either.
    return rows.attributes<{ lead: number }>('upstream', 'replicas')?.lead === replica.replica;
  });
}

function replicasOf(world: World, { path }: Host): Host[] {
  return [...world.hosts.values()].filter((host) => host.path === path);
}

function placesBelow(world: World, ancestor: Host): Host[] {
  return world.childrenOf(ancestor).filter(({ planned, replica }) => (planned.replicas ?? 1) > 1 && replica === 0);
}
