/**
 * `banyan status`: the placements of a space, one line each, and what is wrong with them. `banyan status epl/NAME`: one placement with its counts and
 * conditions. Ages are computed when the command runs, from the times in the statuses.
 */
import type { Condition, KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { ageText } from './age.ts';
import type { NodeApiClient } from './api-client.ts';
import { failureRemedy, type ShownFailure } from './remedy.ts';
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
export async function spaceReport(api: Pick<NodeApiClient, 'list'>, context: string, nowMs: number): Promise<string> {
  const all = await api.list(context, placements);
  if (all.length === 0) return `${context} has no EdgePlacement`;
  const rows = all.map((placement) => {
    const status = statusOf(placement);
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    const state = ready?.status === 'True' ? 'Ready' : (ready?.reason ?? 'no status yet');
    return [placement.metadata.name ?? '', state, display(status, nowMs), status.rollout?.message ?? ''];
  });
  const table = formatTable(['PLACEMENT', 'STATE', 'DESTINATIONS', 'ROLLOUT'], rows);
  const failures = all.flatMap((placement) =>
    (statusOf(placement).failures ?? []).map((one) => [placement.metadata.name ?? '', one] as const),
  );
  return failures.length === 0 ? table : `${table}\n\n${failureTable(failures, nowMs)}`;
}

export async function placementReport(
  api: Pick<NodeApiClient, 'get'>,
  context: string,
  name: string,
  nowMs: number,
): Promise<string> {
  const placement = await api.get(context, `${placements}/${name}`);
  if (!placement) throw new BanyanError('NotFound', `${context} has no EdgePlacement "${name}"`);
  const status = statusOf(placement);
  const generation = placement.metadata.generation ?? 0;
  const lines = [`${name}   ${display(status, nowMs) || 'no status yet'}`];
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
  if (counts.length > 0)
    lines.push(
      '',
      formatTable(
        counts.map(([key]) => key.toUpperCase()),
        [counts.map(([, value]) => String(value))],
      ),
    );
  if (status.failures?.length) {
    const rows = status.failures.map((one) => [name, one] as const);
    lines.push('', 'A sample of what is wrong:', failureTable(rows, nowMs, false));
  }
  return lines.join('\n');
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
