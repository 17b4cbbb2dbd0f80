/** Finds the part of a status that changes although nothing has happened. Such a change is not worth a message to the parent. */
import { stableStringify } from '../../core/object/canonical.ts';

/** Times of the last check, as the conditions of Pods, Nodes and workloads have them. */
const noise = new Set(['lastProbeTime', 'lastHeartbeatTime', 'lastUpdateTime']);

/** Equal texts: nothing has happened between the two states. */
export function quietStatus(status: unknown): string {
  return status === undefined ? '' : stableStringify(quiet(status));
}

function quiet(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(quiet);
  if (value === null || typeof value !== 'object') return value;
  const fields = Object.entries(value).filter(([name]) => !noise.has(name));
  return Object.fromEntries(fields.map(([name, field]) => [name, quiet(field)]));
}
