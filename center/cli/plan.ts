/** `banyan plan`: what would change if the objects of some files were applied to a space. Nothing is written. */
import type { CountRange } from '../../core/match/match-counts.ts';
import type { NamedCount } from '../../relay/plan/object-preview.ts';
import { partName, rangeText } from '../../relay/plan/place-preview.ts';
import type { PlacementPlan, SpacePlan } from '../../relay/plan/space-plan.ts';
import { type PlannedObjects, plannedObjects } from './manifest.ts';
import type { PlanAnswer, PlanApi } from './plan-answer.ts';
import { planAt } from './plan-at.ts';
import { UsageError } from './usage-error.ts';

export interface PlanQuestion {
  /** `space/center/retail` */
  readonly space: string;
  /** Empty: the objects of the space as they are. */
  readonly files: readonly string[];
  /** Path of an edge cluster. */
  readonly at?: string;
}

/** A node takes request bodies of up to 1.5 MiB (core/apiserver/http/body.ts). */
const objectsCharactersMax = 1_500_000;
/** A node reads at most 20,000 objects for one answer, which takes about half a second for each placement. */
const withinMs = 60_000;

export async function plan(api: PlanApi, { space, files, at }: PlanQuestion): Promise<PlanAnswer> {
  const read: PlannedObjects =
    files.length === 0 ? { objects: [], unchecked: [] } : await plannedObjects(api, space, files);
  const { objects, unchecked } = read;
  const size = JSON.stringify(objects).length;
  if (size > objectsCharactersMax) {
    const limit = `a plan takes at most ${objectsCharactersMax}: plan fewer files at once`;
    throw new UsageError(`${files.join(', ')}: the objects have ${size} characters, and ${limit}`);
  }
  const notes = unchecked.map((one) => `not checked, because its Namespace or definition is not there yet: ${one}`);
  if (at !== undefined) {
    const { lines, isChange } = await planAt(api, { space, objects, at, withinMs });
    return { lines: [...notes, ...lines], isChange };
  }
  const { placements } = await api.ask<SpacePlan>(space, '/plan', withinMs, { objects });
  const lines = placements.flatMap((placement, i) => [...(i === 0 ? [] : ['']), ...placementLines(placement)]);
  const none = placements.length === 0 ? [`${space}: no EdgePlacement selects these objects, so they go nowhere`] : [];
  return { lines: [...notes, ...none, ...lines], isChange: placements.some(isChanged) };
}

function isChanged({ places, objects, isNew }: PlacementPlan): boolean {
  const { joining, leaving, changing } = objects;
  return isNew || places.joining.atMost + places.leaving.atMost + joining.count + leaving.count + changing.count > 0;
}

function placementLines(placement: PlacementPlan): string[] {
  const { name, isNew, places, objects } = placement;
  const state = isNew ? 'new' : isChanged(placement) ? 'would change' : 'nothing would change';
  const { parts, unknown } = places;
  return [
    `EdgePlacement ${name}: ${state}`,
    `  places   ${rangeText(places.next)}${moves(places.joining, places.leaving)}`,
    ...parts.map((part) => `    ${partName(part)}   ${rangeText(part.next)}${moves(part.joining, part.leaving)}`),
    ...unknown.map((path) => `    ${path}   unknown: it has not reported its Locations yet`),
    `  objects  ${objects.next} selected${counts(objects.joining, objects.leaving, objects.changing)}`,
    ...sample('+', objects.joining),
    ...sample('-', objects.leaving),
    ...sample('~', objects.changing),
    ...(objects.isPartial ? ['    only a part of the objects was read: the space has too many for one answer'] : []),
  ];
}

function moves(joining: CountRange, leaving: CountRange): string {
  const shown = [
    ...(joining.atMost > 0 ? [`+${rangeText(joining)}`] : []),
    ...(leaving.atMost > 0 ? [`-${rangeText(leaving)}`] : []),
  ];
  return shown.length > 0 ? ` (${shown.join(', ')})` : '';
}

function counts(joining: NamedCount, leaving: NamedCount, changing: NamedCount): string {
  const shown = [
    ...(joining.count > 0 ? [`+${joining.count}`] : []),
    ...(leaving.count > 0 ? [`-${leaving.count}`] : []),
    ...(changing.count > 0 ? [`${changing.count} changed`] : []),
  ];
  return shown.length > 0 ? ` (${shown.join(', ')})` : '';
}

function sample(sign: string, { count, sample: names }: NamedCount): string[] {
  const more = count - names.length;
  return [...names.map((name) => `    ${sign} ${name}`), ...(more > 0 ? [`    ${sign} and ${more} more`] : [])];
}
