/** Finds the parts of a status that change although nothing has happened. Such a change is not worth a message to the parent. */
import { stableStringify } from '../../core/object/canonical.ts';

/** Fields with the time of the last check, as the conditions of Pods, Nodes and workloads have them. */
const noise = new Set(['lastProbeTime', 'lastHeartbeatTime', 'lastUpdateTime']);

/** Returns the status without these fields, as text. If two states give equal texts, nothing has happened between them. */
export function quietStatus(status: unknown): string {
  return status === undefined ? '' : stableStringify(quiet(status));
}

function quiet(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(quiet);
  if (value === null || typeof value !== 'object') return value;
  const fields = Object.entries(value).filter(([name]) => !noise.has(name));
  return Object.fromEntries(fields.map(([name, field]) => [name, quiet(field)]));
}
