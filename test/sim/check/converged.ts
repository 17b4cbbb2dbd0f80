/**
 * Invariants 1, 11 and 12, after healing: every agent has the objects of the model, and every placement reports them. The result is undefined if this is
 * true.
 */
import type { KubeObject } from '../../../core/object/meta.ts';
import type { Host } from '../host.ts';
import { type Expectation, expectation, heldBy, isBelow, type ModelPlacement, titleOfKey } from '../model/expected.ts';
import type { Releases } from '../model/releases.ts';
import type { World } from '../world.ts';
import { prunedWrong } from './pruned.ts';
import { reportsWrong } from './reported.ts';
import { Rows } from './rows.ts';
import { standing, standingAmong } from './standing.ts';
import { summaryWrong as foldWrong, readSummary, summarizersOf } from './summaries.ts';
import { unsentWrong } from './unsent.ts';

/** Does not check agents that are cut off for good: they keep their last objects. */
export function notConverged(
  world: World,
  releases: Releases,
  isCutOff: (path: string) => boolean,
): string | undefined {
  const model = expectation(world, releases);
  if (!model) return 'a node does not serve';
  return (
    prunedWrong(world, model, isCutOff) ??
    objectsWrong(world, model, isCutOff) ??
    summariesWrong(world, model, isCutOff) ??
    unsentWrong(world)
  );
}

function objectsWrong(world: World, model: Expectation, isCutOff: (path: string) => boolean): string | undefined {
  for (const host of world.hosts.values()) {
    if (host.role !== 'agent' || host.isGone || isCutOff(host.path)) continue;
    const cluster = host.spaces.get('');
    if (!cluster) return `${host.title} does not run`;
    const held = heldBy(cluster);
    const wanted = model.objects.get(host.path) ?? new Map<string, string>();
    for (const [title, content] of wanted) {
      const has = held.get(title);
      if (has !== content) return `${host.title}: ${title} is ${has ?? 'not there'}, expected ${content}`;
    }
    const heldBack = heldBackBy(host);
    for (const title of held.keys())
      if (!wanted.has(title) && !heldBack.has(title) && !model.waiting.has(namespaceOf(title)))
        return `${host.title} still has ${title}`;
  }
  return undefined;
}

/** Parses `KIND NAMESPACE/NAME`. */
function namespaceOf(title: string): string {
  return title.slice(title.indexOf(' ') + 1, title.lastIndexOf('/'));
}

/**
 * The objects that an agent holds back. If an agent has moved, and the objects of its old parent are more than the budget of deletions, they stay until a
 * person approves their deletion.
 */
function heldBackBy(host: Host): Set<string> {
  const keys = Rows.of(host.rows, (rows) => rows.heldKeys('upstream'));
  return new Set(keys.filter((key) => key.startsWith('o/')).map(titleOfKey));
}

interface Status {
  readonly observedGeneration?: number;
  readonly summary?: Readonly<Record<string, number>>;
  readonly rollout?: { readonly phase: string; readonly message: string };
}

/** Phases in which a release that is not everywhere waits for a person or a program. */
const waiting = new Set(['Paused', 'RolledBack', 'WaitingForGate']);
/** In other phases, a release continues by itself, with 90 s for each wave without a connected destination. */
const nobodyThere = 'none of its destinations is connected';

function summariesWrong(world: World, model: Expectation, isCutOff: (path: string) => boolean): string | undefined {
  const standingAt = standing(world, isCutOff);
  const cutOff = [...world.hosts.values()].filter(({ isGone, path }) => !isGone && isCutOff(path));
  for (const placement of model.placements) {
    const isWhole = !cutOff.some(({ path }) => isBelow(path, placement.host.path));
    const isReached = placement.agents.filter((path) => !isCutOff(path));
    if (isCutOff(placement.host.path)) continue;
    const broken = placement.broken.filter((path) => !isCutOff(path));
    const unreported = standingAmong(standingAt, isReached, placement.host.path);
    const wrong = summaryWrong(placement, { reached: isReached.length, broken: broken.length, isWhole, unreported });
    if (wrong) return wrong;
    const isReportedInFull = isWhole && isReached.length === placement.agents.length && unreported === 0;
    const shown = isReportedInFull
      ? (userSummariesWrong(placement) ?? reportsWrong(world, model, placement))
      : undefined;
    if (shown) return shown;
  }
  return undefined;
}

function userSummariesWrong({ host, space, object, agents, delivered }: ModelPlacement): string | undefined {
  const { name = '' } = object.metadata;
  for (const summarizer of summarizersOf(object)) {
    const wrong = foldWrong(readSummary(host.spaces.get(space), name, summarizer), agents.length, delivered);
    if (wrong) return `${host.title}/${space} ${name}.${summarizer} ${wrong}`;
  }
  return undefined;
}

interface Reached {
  readonly reached: number;
  readonly broken: number;
  /** Whether no agent below the placement's node is cut off. */
  readonly isWhole: boolean;
  /** How many agents may be reported as not reached at most, if all agents of a placement are reached. */
  readonly unreported: number;
}

/** Compares the summary with the sum over the leaves: after healing, each reached agent has all objects, and all of them are available. */
function summaryWrong(
  { host, space, object, agents, isUnfinished }: ModelPlacement,
  { reached, broken, isWhole, unreported }: Reached,
): string | undefined {
  const { observedGeneration, summary = {}, rollout } = (object as KubeObject & { status?: Status }).status ?? {};
  const title = `${host.title}/${space} ${object.metadata.name}`;
  if (observedGeneration !== object.metadata.generation) {
    return `${title} is summed up for generation ${observedGeneration} of ${object.metadata.generation}`;
  }
  const { expected = -1, fresh, stale = 0, never = 0, quarantined = 0 } = summary;
  const shown = JSON.stringify(summary);
  // Nodes above a subtree that is cut off show the last reports of the subtree, if there are any. These reports may be about agents that were removed since.
  if (isWhole && reached === agents.length && expected !== agents.length)
    return `${title} expects ${agents.length} places, shown is ${shown}`;
  if ((fresh ?? 0) + stale + never + quarantined !== expected) return `${title}: the parts are not the whole: ${shown}`;
  if (isUnfinished) {
    const waits = waiting.has(rollout?.phase ?? '') || rollout?.message.includes(nobodyThere);
    return waits || unreported > 0 ? undefined : `${title} neither continues nor waits: ${rollout?.message}`;
  }
  if (unreported > 0) return partlyReportedWrong(title, summary, { reached, broken, unreported });
  const should = { fresh: reached, synced: reached, applied: reached, available: reached - broken, failed: broken };
  for (const [count, number] of Object.entries({ ...should, conflicted: 0, outdated: 0 })) {
    if (summary[count] !== number) return `${title}: ${count} should be ${number}, shown is ${shown}`;
  }
  return undefined;
}

/** Checks the counts if all reports about these agents have arrived. */
function partlyReportedWrong(
  title: string,
  { fresh = 0, synced, applied, available = 0, failed = 0, conflicted, outdated }: Readonly<Record<string, number>>,
  { reached, broken, unreported }: Omit<Reached, 'isWhole'>,
): string | undefined {
  const isWithin = fresh >= reached - unreported && fresh <= reached && failed <= broken;
  const isAll = synced === fresh && applied === fresh && available + failed === fresh;
  if (isWithin && isAll && conflicted === 0 && outdated === 0) return undefined;
  const shown = JSON.stringify({ fresh, synced, applied, available, failed, conflicted, outdated });
  return `${title}: fresh should be ${reached - unreported} to ${reached}, and all of them available except ${broken} at most, shown is ${shown}`;
}
