/**
 * `banyan plan --at PATH`: what would be at one destination, and the difference to what it was sent. The origin of the space makes the rows, and the parent of the
 * agent makes the objects from them, because only the parent knows the destination.
 */
import { stringify } from 'yaml';
import { isBelow, nameOf, parentOf, pathShownAs, shownPath } from '../../core/identity/node-path.ts';
import { formatKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { compareText } from '../../core/object/text-order.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { DestinationObject, DestinationPlan } from '../../relay/plan/destination-plan.ts';
import { shownKey } from '../../relay/plan/object-preview.ts';
import type { PlanAtRequest, ShownRow } from '../../relay/plan/plan-urls.ts';
import { checkCluster } from './known-cluster.ts';
import type { PlanAnswer, PlanApi } from './plan-answer.ts';
import { unifiedDiff } from './unified-diff.ts';

export interface PlanAtQuestion {
  readonly space: string;
  readonly objects: readonly KubeObject[];
  readonly at: string;
  readonly withinMs: number;
}

interface SourceRows {
  readonly source: string;
  readonly planned: readonly string[];
  readonly rows: readonly ShownRow[];
}

/** Below the limit of a request body, 1.5 MiB (core/apiserver/http/body.ts). More rows go in several requests. */
const requestCharactersMax = 1_000_000;

export async function planAt(api: PlanApi, { space, objects, at, withinMs }: PlanAtQuestion): Promise<PlanAnswer> {
  const [, origin = '', name = ''] = space.split('/');
  const originPath = pathShownAs(origin);
  await checkCluster(api, at);
  if (!isBelow(at, originPath)) {
    const why = `it is not below ${origin}, and a space sends objects only to nodes below its own node`;
    throw new BanyanError('NotFound', `--at: "${at}" gets nothing of ${space}: ${why}`);
  }
  const node = `node/${origin}`;
  const sent = await api.ask<SourceRows>(node, `/spaces/${encodeURIComponent(name)}/plan/rows`, withinMs, { objects });
  const lastHop = parentOf(at);
  const there = lastHop === originPath ? '' : `/tree/${encodeURIComponent(shownPath(lastHop))}`;
  const url = `${there}/mailboxes/${encodeURIComponent(nameOf(at))}/plan`;
  const plans: DestinationPlan[] = [];
  for (const request of requestsOf(sent)) plans.push(await api.ask<DestinationPlan>(node, url, withinMs, request));
  return answerOf(at, plans);
}

/** Splits the object rows into requests. Each request has the other rows too: placements, Customizers, definitions. */
function requestsOf({ source, planned, rows }: SourceRows): PlanAtRequest[] {
  const isObject = ({ key }: ShownRow) => key.startsWith('o/');
  const isDefinition = ({ key }: ShownRow) =>
    key.startsWith(`o/${source}/apiextensions.k8s.io/customresourcedefinitions/`);
  const shared = rows.filter((row) => !isObject(row) || isDefinition(row));
  const sharedSize = sizeOf(shared);
  const batches: ShownRow[][] = [[]];
  let size = sharedSize;
  for (const row of rows.filter(isObject)) {
    const its = isDefinition(row) ? row.key.length : sizeOf([row]);
    if (size + its > requestCharactersMax && batches.at(-1)!.length > 0) {
      batches.push([]);
      size = sharedSize;
    }
    batches.at(-1)!.push(row);
    size += its;
  }
  const all = rows.filter(isObject).map(({ key }) => key);
  return batches.map((batch, i) => ({
    source,
    planned: [...planned],
    rows: [...shared, ...batch.filter((row) => !isDefinition(row))],
    make: batch.map(({ key }) => key),
    ...(i === 0 ? { all } : {}),
  }));
}

function sizeOf(rows: readonly ShownRow[]): number {
  return JSON.stringify(rows).length;
}

function answerOf(at: string, plans: readonly DestinationPlan[]): PlanAnswer {
  const matches: Record<string, boolean> = Object.assign({}, ...plans.map((one) => one.matches));
  const objects = plans.flatMap((one) => one.objects).sort((a, b) => compareText(formatKey(a.key), formatKey(b.key)));
  const differences = objects.map((object) => differenceOf(at, object));
  const isChange = differences.some((lines) => lines.length > 0);
  const lines = [
    ...Object.entries(matches).map(
      ([name, isMatch]) => `# EdgePlacement ${name} ${isMatch ? 'matches' : 'does not match'} ${at}`,
    ),
    `# ${at} would have ${objects.filter(({ next }) => next).length} objects of these placements:`,
    ...objects.flatMap(({ key, next, failure }) => [
      ...(next ? ['---', yamlOf(next).trimEnd()] : []),
      ...(failure === undefined ? [] : ['---', `# ${shownKey(key)} can't be made: ${failure}`]),
    ]),
    '---',
    isChange ? `# the difference to what ${at} was sent:` : `# no difference to what ${at} was sent`,
    ...differences.flat(),
  ];
  return { lines, isChange };
}

/** A failure leaves the present form in place, so it makes no difference. */
function differenceOf(at: string, { key, present, next, failure }: DestinationObject): string[] {
  if (failure !== undefined) return [];
  const name = shownKey(key);
  const names = { before: `${present ? `${at} ${name}` : '/dev/null'}`, after: next ? `plan ${name}` : '/dev/null' };
  return unifiedDiff(present ? yamlOf(present) : '', next ? yamlOf(next) : '', names);
}

/** The fields come in the order of text, so that two forms of an object differ only where their content differs. */
function yamlOf(object: KubeObject): string {
  return stringify(object, { sortMapEntries: true });
}
