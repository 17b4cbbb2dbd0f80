/**
 * A candidate that was handed out stays until its release has ended. An agent that attaches to another replica keeps the candidate, and so does an agent
 * whose replica is restored to an old copy. The check runs when the agent stores a replacement; then the agent's own record of the handed release counts. The
 * check also runs when the agent receives that the release was not handed out to it.
 */
import type { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import type { Host } from '../host.ts';
import { absent, isStagedObject, type Releases, versionOf } from '../model/releases.ts';
import { stagedName } from '../plan/rollouts.ts';
import type { Check, World } from '../world.ts';
import { rowsWritten } from './deliveries.ts';
import { Rows } from './rows.ts';

const handedPrefix = 'h/';

export function handedKept(world: World, releases: Releases): Check {
  const name = 'a candidate that was handed out stays until its release has ended';
  return {
    name,
    committed(host, changes, before) {
      if (host.role !== 'agent' || !mayComeFromAnotherReplica(world, host)) return;
      if (host.deceived.has('upstream') || world.originWasPutBack) return;
      for (const { table, key, attributes, body } of rowsWritten(host, changes, before)) {
        if (table !== 'upstream') continue;
        const wrong = key.startsWith(handedPrefix)
          ? takenBack(releases, before, key.slice(handedPrefix.length), releaseIn(attributes))
          : isStagedObject(key) && replaced(releases, before, key, versionOf(body, attributes));
        if (wrong) world.violation(name, `${host.title} ${wrong}`);
      }
    },
  };
}

/** Returns a message if the agent receives that the release was not handed out to it, although it was. */
function takenBack(
  releases: Releases,
  before: MemoryStore,
  id: string,
  { release, handed }: HandedRow,
): string | undefined {
  const isPast = releases.authorisationsOf(id).at(-1)?.release !== release || releases.isOver(id, release);
  if (handed || isPast || handedTo(before, id) !== release) return undefined;
  return `has release ${release} of ${id}, and receives that it was not handed out`;
}

/** Returns a message if an object of the release is replaced by an object that is not part of the release. */
function replaced(releases: Releases, before: MemoryStore, key: string, has: string): string | undefined {
  const id = `${key.split('/')[1]}/${stagedName}`;
  const last = releases.authorisationsOf(id).at(-1);
  if (!last || last.held === 0 || handedTo(before, id) !== last.release) return undefined;
  const formerVersion = versionIn(before, key);
  if (formerVersion === absent || has === absent || formerVersion === has || releases.wasPromoted(key, formerVersion))
    return undefined;
  const isOf = (version: string) => releases.isOf(id, last.release, key, version);
  return isOf(formerVersion) && !isOf(has)
    ? `has ${formerVersion} as ${key} of release ${last.release}, and gets ${has}`
    : undefined;
}

function mayComeFromAnotherReplica(world: World, agent: Host): boolean {
  return world.parentsOf(agent).length > 1;
}

/** The release that the agent has, according to the row that it received. */
function handedTo(store: MemoryStore, id: string): number | undefined {
  const seen = seenIn(store, `${handedPrefix}${id}`);
  const row = seen && releaseIn(seen.attributes);
  return row?.handed ? row.release : undefined;
}

interface HandedRow {
  readonly release: number;
  readonly handed: boolean;
}

function releaseIn(attributes: Buffer): HandedRow {
  return JSON.parse(attributes.toString()) as HandedRow;
}

function versionIn(store: MemoryStore, key: string): string {
  const seen = seenIn(store, key);
  return versionOf(seen?.body, seen?.attributes);
}

function seenIn(store: MemoryStore, key: string): ReturnType<Rows['content']> {
  return Rows.of(store, (rows) => rows.entry('upstream', key));
}
