/**
 * The releases of the tree's staged placements, from the rows that the origins have written: all versions of an object that were ever promoted, the versions
 * of each release, and the authorisations with their times. A crash of an origin undoes unflushed writes, but other nodes may already have received them.
 */
import type { MemoryStore } from '../../../core/store/memory/memory-store.ts';
import { isIn, prefix, Rows, rowOf, tableIdOf } from '../check/rows.ts';
import type { Change } from '../disk.ts';
import type { Host } from '../host.ts';
import { stagedName, stagedNamespace } from '../plan/rollouts.ts';
import { sourceOf } from '../plan/tree.ts';
import { contentOf } from './expected.ts';
import type { RolloutWritten } from './waves.ts';

/** The attributes of a release row that other nodes can check. */
export interface ReleaseSeen {
  readonly release: number;
  readonly salt: string;
  readonly wave: number;
  readonly halted: boolean;
  readonly drawn: readonly number[] | null;
  readonly lease: number;
  readonly authorizationSeconds: number;
  readonly held: number;
  readonly rolledBack?: true;
}

/** The authorisation of an origin, valid from a time on. */
export interface Authorisation extends ReleaseSeen {
  readonly atMs: number;
  readonly rollout: RolloutWritten | undefined;
}

export const absent = '(none)';

/** The version of each object, keyed by object key. */
type Versions = ReadonlyMap<string, string>;

export interface OriginState {
  readonly release: ReleaseSeen | undefined;
  readonly current: Versions;
  readonly promoted: Versions;
}

const nothing: OriginState = { release: undefined, current: new Map(), promoted: new Map() };

export class Releases {
  /** The state of each staged placement (`SOURCE/NAME`) for each snapshot of an origin's disk. A crash leaves one of these snapshots. */
  readonly #states = new WeakMap<MemoryStore, ReadonlyMap<string, OriginState>>();
  readonly #everPromoted = new Set<string>();
  readonly #candidates = new Set<string>();
  /** `ID RELEASE` of each release that the origin has dropped. After that, every destination gets the present objects. */
  readonly #over = new Set<string>();
  readonly #authorisations = new Map<string, Authorisation[]>();
  readonly #keys = new Map<string, string>();

  /** Must be called at each commit of a host. */
  committed(host: Host, changes: readonly Change[], before: MemoryStore, nowMs: number): void {
    if (host.planned.spaces.length === 0 || host.isClone) return;
    const isPutBack = !this.#states.has(before);
    const known = this.#states.get(before) ?? new Map<string, OriginState>();
    const states = new Map(known);
    for (const space of host.planned.spaces) {
      const source = sourceOf(host.planned, space);
      const id = stagedId(host, space);
      const next = this.#next(host, source, known.get(id) ?? nothing, isPutBack ? undefined : changes);
      if (!next) continue;
      states.set(id, next);
      this.#note(host, space, id, next, nowMs);
    }
    this.#states.set(host.disk.newest, states);
  }

  /** All authorisations of the release so far, the newest last. */
  authorisationsOf(id: string): readonly Authorisation[] {
    return this.#authorisations.get(id) ?? [];
  }

  /** The state in a snapshot of the origin's disk. */
  at(snapshot: MemoryStore, id: string): OriginState {
    return this.#states.get(snapshot)?.get(id) ?? nothing;
  }

  /** The present state on the disk of the origin. */
  now(origin: Host, id: string): OriginState {
    return this.at(origin.disk.newest, id);
  }

  wasPromoted(key: string, version: string): boolean {
    return this.#everPromoted.has(`${key} ${version}`);
  }

  /** Whether the release was promoted once. Then a destination that reports it may be right. */
  isForAll(id: string, release: number): boolean {
    return this.authorisationsOf(id).some(
      (authorisation) => authorisation.release === release && authorisation.held === 0,
    );
  }

  /** Whether nothing of the release is held back any more. */
  isOver(id: string, release: number): boolean {
    return this.isForAll(id, release) || this.#over.has(`${id} ${release}`);
  }

  isOf(id: string, release: number, key: string, version: string): boolean {
    return this.#candidates.has(`${id} ${release} ${key} ${version}`);
  }

  /** Computes the next state. Without `changes`, reads all rows, because nothing is known about a restored disk. */
  #next(
    host: Host,
    source: string,
    before: OriginState,
    changes: readonly Change[] | undefined,
  ): OriginState | undefined {
    return Rows.of(host.rows, (rows) => {
      const table = rows.table(`source/${source}`);
      if (table === undefined) return undefined;
      let { release } = before;
      const current = new Map(before.current);
      let isChanged = false;
      for (const { key, value } of changes ?? rows.written(table)) {
        if (!isIn(key, 'tableRow') || tableIdOf(key) !== table) continue;
        const content = value && rowOf(value).content;
        const seen = content === undefined ? undefined : rows.content(content);
        const hash = `${host.title} ${key.toString('hex', 2)}`;
        const name = seen?.key ?? this.#keys.get(hash);
        if (name === undefined) continue;
        this.#keys.set(hash, name);
        if (name === `r/${source}/${stagedName}`) {
          release = seen && (JSON.parse(seen.attributes.toString()) as ReleaseSeen);
        } else if (isStagedObject(name)) {
          current.set(name, versionOf(seen?.body, seen?.attributes));
        } else {
          continue;
        }
        isChanged = true;
      }
      if (!isChanged) return undefined;
      const isPromoted = !release || release.held === 0;
      return { release, current, promoted: isPromoted ? current : before.promoted };
    });
  }

  #note(host: Host, space: string, id: string, { release, current, promoted }: OriginState, atMs: number): void {
    for (const [key, version] of promoted) this.#everPromoted.add(`${key} ${version}`);
    const last = this.authorisationsOf(id).at(-1);
    if (!release && last) this.#over.add(`${id} ${last.release}`);
    if (!release) return;
    for (const [key, version] of current) this.#candidates.add(`${id} ${release.release} ${key} ${version}`);
    const authorisations = this.#authorisations.get(id) ?? [];
    this.#authorisations.set(id, authorisations);
    authorisations.push({ ...release, atMs, rollout: writtenRollout(host, space) });
  }
}

/** The present `spec.rollout` in the author's object. */
function writtenRollout(host: Host, space: string): RolloutWritten | undefined {
  const key = { group: 'edge.banyan.io', resource: 'edgeplacements', namespace: '', name: stagedName };
  return (host.spaces.get(space)?.get(key)?.spec as { rollout?: RolloutWritten } | undefined)?.rollout;
}

/** `SOURCE/NAME` of the staged placement of a space. */
export function stagedId(host: Host, space: string): string {
  return `${sourceOf(host.planned, space)}/${stagedName}`;
}

export function isStagedObject(key: string): boolean {
  const [type, source = '', , , namespace] = key.split('/');
  return type === 'o' && namespace === stagedNamespace(source);
}

/** Whether the key is that of the namespace that is brought and removed together with the staged objects. */
export function isStagedNamespace(key: string): boolean {
  const [type, source = '', , resource, , name] = key.split('/');
  return type === 'o' && resource === 'namespaces' && name === stagedNamespace(source);
}

/** The content of a row's object. `absent`: the row has no body, or no placement refers to the object any more. */
export function versionOf(body: Buffer | undefined, attributes?: Buffer): string {
  if (!body) return absent;
  const { refs } = attributes ? (JSON.parse(attributes.toString()) as { refs?: string[] }) : {};
  if (refs && !refs.includes(stagedName)) return absent;
  return contentOf(JSON.parse(body.toString()));
}

/** The release that was handed out to a child, according to its parent's store. */
export function handed(rows: Rows, id: string, child: string): number | undefined {
  const found = rows.get('exposure', `${id}\u0000${child}`);
  return found && (JSON.parse(found.toString()) as { release: number }).release;
}

/** Parses the key of the record of a handed release. */
export function handedKey(key: Buffer): { readonly id: string; readonly child: string } {
  const [id = '', child = ''] = key.toString('utf8', prefix('exposure').length).split('\u0000');
  return { id, child };
}
