/**
 * `banyan status`: the placements of a space, one line each, and what is wrong with them. `banyan status epl/NAME`: one placement with its counts and
 * conditions. Ages are computed when the command runs, from the times in the statuses.
 */
import type { Condition, KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { ageText } from './age.ts';
import type { NodeApiClient } from './api-client.ts';
import type { Output } from './output.ts';
import { failureRemedy, type ShownFailure } from './remedy.ts';
import { relayFailures } from './status-below.ts';
import { formatTable } from './table.ts';

interface ShownStatus {
  observedGeneration?: number;
  display?: string;
  summary?: Record<string, number | string>;
  conditions?: Condition[];
  rollout?: {
    release: number;
    phase: string;
    message?: string;
    expected?: number;
    exposed?: number;
    available?: number;
    failed?: number;
  };
  failures?: ShownFailure[];
}

const placements = '/apis/edge.banyan.io/v1alpha1/edgeplacements';

/** One line for each placement of the space, and then the samples of failures of all of them. */
export async function spaceOutput(api: Pick<NodeApiClient, 'list'>, context: string, nowMs: number): Promise<Output> {
  const items = await api.list(context, placements);
  const failures = items.flatMap((placement) =>
    (statusOf(placement).failures ?? []).map((one) => [nameOf(placement), one] as const),
  );
  const text = (isWide: boolean) => {
    if (items.length === 0) return `${context} has no EdgePlacement`;
    const header = ['PLACEMENT', 'STATE', 'DESTINATIONS', ...(isWide ? wideCounts.map(upper) : []), 'ROLLOUT'];
    const table = formatTable(
      header,
      items.map((placement) => rowOf(placement, nowMs, isWide)),
    );
    return failures.length === 0 ? table : `${table}\n\n${failureTable(failures, nowMs)}`;
  };
  return {
    data: { apiVersion: 'v1', kind: 'List', items },
    names: items.map(named),
    text: text(false),
    wide: text(true),
  };
}

/** `isWide`: asks every relay below for its sample of failures, too. Throws NotFound. */
export async function placementOutput(
  api: Pick<NodeApiClient, 'get' | 'contexts'>,
  { context, name, nowMs }: { readonly context: string; readonly name: string; readonly nowMs: number },
  isWide: boolean,
): Promise<Output> {
  const path = `${placements}/${name}`;
  const placement = await api.get(context, path);
  if (!placement) throw new BanyanError('NotFound', `${context} has no EdgePlacement "${name}"`);
  const own = statusOf(placement).failures ?? [];
  const { failures, silent } = isWide ? await relayFailures(api, context, path, own) : { failures: own, silent: [] };
  const rows = failures.map((one) => [name, one] as const);
  const title = isWide
    ? 'What is wrong, as every relay shows it:'
    : 'A sample of what is wrong (-o wide asks every relay):';
  const text = [
    ...summaryLines(placement, nowMs),
    ...(rows.length === 0 ? [] : ['', title, failureTable(rows, nowMs, false)]),
    ...silent.map((one) => `not asked: ${one}`),
  ].join('\n');
  return { data: placement, names: [named(placement)], text, wide: text };
}

/** The counts that the line of a status does not show. */
const wideCounts = ['expected', 'fresh', 'stale', 'never', 'synced', 'applied', 'available', 'failed'];

function rowOf(placement: KubeObject, nowMs: number, isWide: boolean): string[] {
  const status = statusOf(placement);
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const state = ready?.status === 'True' ? 'Ready' : (ready?.reason ?? 'no status yet');
  const counts = isWide ? wideCounts.map((count) => String(status.summary?.[count] ?? '')) : [];
  return [nameOf(placement), state, display(status, nowMs), ...counts, status.rollout?.message ?? ''];
}

function summaryLines(placement: KubeObject, nowMs: number): string[] {
  const status = statusOf(placement);
  const generation = placement.metadata.generation ?? 0;
  const lines = [`${nameOf(placement)}   ${display(status, nowMs) || 'no status yet'}`];
  if ((status.observedGeneration ?? 0) < generation) {
    lines.push(`generation ${generation} is not observed yet (the status is of ${status.observedGeneration ?? 0})`);
  }
  for (const condition of status.conditions ?? []) {
    lines.push(`${condition.type}=${condition.status}   ${condition.reason}: ${condition.message}`);
  }
  const { release, phase, expected, exposed, available, failed } = status.rollout ?? {};
  if (release !== undefined) lines.push(`release ${release}   ${phase}`);
  if (expected !== undefined) {
    lines.push(`  waves so far: ${expected} connected, ${exposed} have it, ${available} available, ${failed} failed`);
  }
  const counts = Object.entries(status.summary ?? {}).filter(([, value]) => typeof value === 'number');
  if (counts.length === 0) return lines;
  const header = counts.map(([key]) => upper(key));
  return [...lines, '', formatTable(header, [counts.map(([, value]) => String(value))])];
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? '';
}

function named(placement: KubeObject): string {
  return `edgeplacement.edge.banyan.io/${nameOf(placement)}`;
}

function upper(text: string): string {
  return text.toUpperCase();
}

function failureTable(
  failures: readonly (readonly [placement: string, failure: ShownFailure])[],
  nowMs: number,
  namesPlacement = true,
): string {
  const rows = failures.map(([placement, failure]) => [
    ...(namesPlacement ? [placement] : []),
    failure.path,
    failure.since === undefined ? '' : `${failure.since} (${ageText(nowMs - Date.parse(failure.since))})`,
    failure.object ?? '',
    cause(failure),
    failureRemedy(failure),
  ]);
  return formatTable([...(namesPlacement ? ['PLACEMENT'] : []), 'PLACE', 'SINCE', 'OBJECT', 'CAUSE', 'REMEDY'], rows);
}

/** The reason is left out if the message has it. For a place, the column SINCE has the time, with an age that is computed now. */
function cause({ reason, message, since, destinations = 1 }: ShownFailure): string {
  if (since !== undefined) return destinations > 1 ? `${reason}, with ${destinations} destinations` : reason;
  return message.includes(reason) || reason === '' ? message : `${reason}: ${message}`;
}

/** The line of the status, with the age of now instead of the age of the last write. */
function display({ display: text = '', summary }: ShownStatus, nowMs: number): string {
  const oldest = summary?.oldestSince;
  return typeof oldest === 'string'
    ? text.replace(/oldest \d+[smhd]/, `oldest ${ageText(nowMs - Date.parse(oldest))}`)
    : text;
}

function statusOf({ status }: KubeObject): ShownStatus {
  return (status ?? {}) as ShownStatus;
}
