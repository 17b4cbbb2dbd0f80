/** `banyan status epl/NAME`: one placement as text, with the reasons why it waits. */
import type { Condition } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import { formatTable } from './table.ts';

interface ShownStatus {
  observedGeneration?: number;
  display?: string;
  summary?: Record<string, number>;
  conditions?: Condition[];
  rollout?: {
    release: number;
    phase: string;
    expected?: number;
    exposed?: number;
    available?: number;
    failed?: number;
  };
  failures?: { path: string; object: string; reason: string; message: string }[];
}

export async function placementReport(api: NodeApiClient, context: string, name: string): Promise<string> {
  const placement = await api.get(context, `/apis/edge.banyan.io/v1alpha1/edgeplacements/${name}`);
  if (!placement) throw new BanyanError('NotFound', `${context} has no EdgePlacement "${name}"`);
  const status = (placement.status ?? {}) as ShownStatus;
  const generation = placement.metadata.generation ?? 0;
  const lines = [`${name}   ${status.display ?? 'no status yet'}`];
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
  const counts = Object.entries(status.summary ?? {});
  if (counts.length > 0)
    lines.push(
      '',
      formatTable(
        counts.map(([key]) => key.toUpperCase()),
        [counts.map(([, value]) => String(value))],
      ),
    );
  if (status.failures?.length) {
    const rows = status.failures.map(({ path, object, reason, message }) => [path, object, reason, message]);
    lines.push('', 'A sample of what fails:', formatTable(['PATH', 'OBJECT', 'REASON', 'MESSAGE'], rows));
  }
  return lines.join('\n');
}
