/**
 * What was handed stays until its release is ended: an agent that goes from one sibling to another, or whose sibling comes back as it was long ago, keeps
 * the candidate. Looked at where the agent stores what takes its place, by what its own store says that it was handed, and where it is told that it was not.
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
  const name = 'what was handed stays until the release is ended';
  return {
    name,
    committed(host, changes, before) {
      if (host.role !== 'agent' || !mayComeFromASibling(world, host)) return;
      if (host.deceived.has('upstream') || world.originWasPutBack) return;
      for (const { table, key, attributes, body } of rowsWritten(host, changes, before)) {
        if (table !== 'upstream') continue;
        const wrong = key.startsWith(handedPrefix)
          ? takenBack(releases, before, key.slice(handedPrefix.length), saidIn(attributes))
          : isStagedObject(key) && replaced(releases, before, key, versionOf(body, attributes));
        if (wrong) world.violation(name, `${host.title} ${wrong}`);
      }
    },
  };
}

/** In words, if the agent is told that it was not handed what it was. */
function takenBack(releases: Releases, before: MemoryStore, id: string, { release, handed }: Said): string | undefined {
  const isPast = releases.words(id).at(-1)?.release !== release || releases.isOver(id, release);
  if (handed || isPast || handedTo(before, id) !== release) return undefined;
  return `was handed release ${release} of ${id}, and is told that it was not`;
}

/** In words, if what takes the place of an object of its release is not of the release. */
function replaced(releases: Releases, before: MemoryStore, key: string, has: string): string | undefined {
  const id = `${key.split('/')[1]}/${stagedName}`;
  const last = releases.words(id).at(-1);
  if (!last || last.held === 0 || handedTo(before, id) !== last.release) return undefined;
  const had = versionIn(before, key);
  if (had === absent || has === absent || had === has || releases.wasPromoted(key, had)) return undefined;
  const isOf = (version: string) => releases.isOf(id, last.release, key, version);
  return isOf(had) && !isOf(has) ? `has ${had} as ${key} of release ${last.release}, and gets ${has}` : undefined;
}

function mayComeFromASibling(world: World, agent: Host): boolean {
  return world.parentsOf(agent).length > 1;
}

/** The release that the agent was told it has. */
function handedTo(store: MemoryStore, id: string): number | undefined {
  const seen = seenIn(store, `${handedPrefix}${id}`);
  const said = seen && saidIn(seen.attributes);
  return said?.handed ? said.release : undefined;
}

interface Said {
  readonly release: number;
  readonly handed: boolean;
}

function saidIn(attributes: Buffer): Said {
  return JSON.parse(attributes.toString()) as Said;
}

function versionIn(store: MemoryStore, key: string): string {
  const seen = seenIn(store, key);
  return versionOf(seen?.body, seen?.attributes);
}

function seenIn(store: MemoryStore, key: string): ReturnType<Rows['content']> {
  return Rows.of(store, (rows) => rows.entry('upstream', key));
}
