/**
 * Invariant 13: exposure never exceeds the authorisation, and an aborted wave grants nothing new. The check runs when the last hop hands a release out to a
 * destination, when the destination's mailbox changes because of this, and when the destination stores the change. A version that was promoted once is for
 * all destinations. Any other version is only for destinations to which its release was handed out with a valid authorisation.
 */
import type { Host } from '../host.ts';
import { Places } from '../model/places.ts';
import { absent, handedKey, isStagedObject, type ReleaseSeen, type Releases, versionOf } from '../model/releases.ts';
import { nameBeforeMoves } from '../plan/moves.ts';
import { stagedName } from '../plan/rollouts.ts';
import { depthOf, nodeOfSource } from '../plan/tree.ts';
import type { SimProcess } from '../sim-process.ts';
import type { Check, World } from '../world.ts';
import { destinationOf, pathBelow, rowsWritten } from './deliveries.ts';
import { isIn, Rows } from './rows.ts';

/** The time between two beats. At each level, the age of the root may be wrong by this time (decision 0013). */
const beatApartMs = 20_000;
/** Tolerance: a node needs some turns between the receipt of an authorisation and its use. */
const slackMs = 2_000;

export function exposure(world: World, releases: Releases): Check {
  const name = 'exposure is authorised, and an aborted wave grants nothing new';
  /** `ID AGENT RELEASE` of each release that was handed out with a valid authorisation. */
  const granted = new Set<string>();
  /** The same releases, keyed by the agent's machine instead of its path: the path may change. */
  const carried = new Set<string>();
  const leases = new ReceivedLeases();
  const places = new Places(world);

  const handOut = (host: Host, id: string, child: string, release: number) => {
    const agent = world.hosts.get(pathBelow(host, child));
    const carries = `${id} ${nameBeforeMoves(child)} ${release}`;
    // A replica adopts an agent's report that another replica has handed the release out to it. This includes a replica that is behind and has not received
    // that the release was promoted.
    const isAdopted = (host.planned.replicas ?? 1) > 1 && (carried.has(carries) || releases.isForAll(id, release));
    const why =
      agent && !isAdopted ? whyNot(world, releases, { host, agent, id, release }, { leases, places }) : undefined;
    if (why) world.violation(name, `${host.title} hands release ${release} of ${id} to ${child}: ${why}`);
    carried.add(carries);
    granted.add(`${id} ${pathBelow(host, child)} ${release}`);
  };

  const deliver = (host: Host, path: string, key: string, version: string) => {
    if (version === absent || releases.wasPromoted(key, version)) return;
    // Parts of a release that its origin has lost stay at destinations until the origin has these parts again (decision 0020).
    if (world.originWasPutBack) return;
    const id = `${key.split('/')[1]}/${stagedName}`;
    const isHanded = releases
      .authorisationsOf(id)
      .some(({ release }) => releases.isOf(id, release, key, version) && granted.has(`${id} ${path} ${release}`));
    if (isHanded) return;
    world.violation(
      name,
      `${host.title}: ${path} gets ${version} as ${key}, which was neither promoted nor handed to it`,
    );
  };

  return {
    name,
    committed(host, changes, before) {
      releases.committed(host, changes, before, world.nowMs);
      places.committed(host, changes);
      for (const { key, value } of changes) {
        if (!value || !isIn(key, 'exposure')) continue;
        const formerBytes = before.read((reader) => reader.get(key));
        if (formerBytes && value.equals(formerBytes)) continue;
        const { id, child } = handedKey(key);
        handOut(host, id, child, (JSON.parse(value.toString()) as { release: number }).release);
      }
      for (const { table, key, attributes, body } of rowsWritten(host, changes, before)) {
        const path = destinationOf(world, host, table);
        if (key.startsWith('r/') && !table.startsWith('mailbox/')) {
          leases.received(host.simProcess, key.slice(2), JSON.parse(attributes.toString()) as ReleaseSeen, world.nowMs);
        } else if (path !== undefined && isStagedObject(key) && isObject(body)) {
          deliver(host, path, key, versionOf(body));
        }
      }
    },
  };
}

interface HandedOut {
  readonly host: Host;
  readonly agent: Host;
  readonly id: string;
  readonly release: number;
}

/** Returns why the exposure is wrong. Undefined: it is right, according to the release row of the last hop and the rows that the origin has written. */
function whyNot(
  world: World,
  releases: Releases,
  { host, agent, id, release }: HandedOut,
  { leases, places }: { readonly leases: ReceivedLeases; readonly places: Places },
): string | undefined {
  const row = releaseRowAt(host, id);
  if (row?.release !== release) return `it has ${row ? `release ${row.release}` : 'no release'}`;
  if (row.halted) return 'it is halted';
  if (row.wave < 0) return 'no wave of it is authorised';
  const silentMs = leases.silentMs(host.simProcess, id, world.nowMs);
  if (silentMs > row.authorizationSeconds * 1000 + slackMs) {
    return `the last authorisation came ${silentMs} ms ago, and is valid for ${row.authorizationSeconds} s`;
  }
  const authorisations = releases.authorisationsOf(id).filter((one) => one.release === release && one.wave >= 0);
  const upTo = Math.max(-1, ...authorisations.map(({ wave }) => wave));
  if (row.wave > upTo) return `by wave ${row.wave}, and its origin has authorised ${upTo}`;
  // A restored origin draws destinations again for a count for which it had drawn already.
  const drawnRow =
    authorisations.findLast(({ drawn }) => JSON.stringify(drawn) === JSON.stringify(row.drawn)) ??
    authorisations.at(-1);
  const wave = drawnRow && places.wave(host, agent, drawnRow);
  if (wave !== undefined && wave > row.wave) return `it belongs to wave ${wave}, authorised is ${row.wave}`;
  return tooLate(world, releases, { host, agent, id, release }, row.authorizationSeconds);
}

/**
 * Returns a message if a withdrawn authorisation was used too late. At each level that was cut off together with it, the authorisation is valid for its whole
 * time once more.
 */
function tooLate(
  world: World,
  releases: Releases,
  { host, id, release }: HandedOut,
  authorizationSeconds: number,
): string | undefined {
  const authorisations = releases.authorisationsOf(id);
  const last = authorisations.findLastIndex((one) => one.release === release && !one.halted);
  const after = authorisations[last + 1];
  if (!after) return undefined;
  const levels = depthOf(host.path) - depthOf(nodeOfSource(sourceOfId(id)));
  const lateMs = world.nowMs - after.atMs;
  if (lateMs <= (authorizationSeconds * 1000 + beatApartMs) * levels + slackMs) return undefined;
  return `its origin ended it ${lateMs} ms ago, ${levels} levels above`;
}

/** The release row of a node. */
function releaseRowAt(host: Host, id: string): ReleaseSeen | undefined {
  return Rows.of(host.rows, (rows) => {
    const isOrigin = nodeOfSource(sourceOfId(id)) === host.path;
    const seen = rows.entry(isOrigin ? `source/${sourceOfId(id)}` : 'upstream', `r/${id}`);
    return seen && (JSON.parse(seen.attributes.toString()) as ReleaseSeen);
  });
}

/** Whether the body is an object. A malformed row from a liar is stored as received, and has no effect. */
function isObject(body: Buffer): boolean {
  try {
    return typeof (JSON.parse(body.toString()) as { metadata?: unknown }).metadata === 'object';
  } catch {
    return false;
  }
}

function sourceOfId(id: string): string {
  return id.slice(0, id.indexOf('/'));
}

/** The time at which each process received its newest increasing authorisation. A process does not know authorisations from before its start. */
class ReceivedLeases {
  readonly #byProcess = new WeakMap<SimProcess, Map<string, { readonly lease: string; readonly atMs: number }>>();

  received(simProcess: SimProcess, id: string, { lease, release }: ReleaseSeen, nowMs: number): void {
    const known = this.#byProcess.get(simProcess) ?? new Map<string, { lease: string; atMs: number }>();
    this.#byProcess.set(simProcess, known);
    if (known.get(id)?.lease !== `${release}/${lease}`) known.set(id, { lease: `${release}/${lease}`, atMs: nowMs });
  }

  silentMs(simProcess: SimProcess, id: string, nowMs: number): number {
    const atMs = this.#byProcess.get(simProcess)?.get(id)?.atMs;
    return atMs === undefined ? Number.POSITIVE_INFINITY : nowMs - atMs;
  }
}
