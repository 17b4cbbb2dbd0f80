/**
 * Computes the next step of a Deployment's rolling update: how many replicas each ReplicaSet gets. There are never more than replicas + maxSurge pods, and at
 * least replicas - maxUnavailable pods stay available.
 * https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment
 */

export interface ReplicaSetView {
  readonly name: string;
  /** spec.replicas */
  readonly replicas: number;
  /** status.availableReplicas */
  readonly available: number;
}

export interface RollingUpdate {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** Computes the numbers of pods from `25%` or plain numbers. maxSurge is rounded up, and maxUnavailable is rounded down. They are never both 0. */
export function rollingUpdate(
  replicas: number,
  parameters: { maxSurge?: number | string; maxUnavailable?: number | string } = {},
): RollingUpdate {
  const maxSurge = resolve(parameters.maxSurge ?? '25%', replicas, Math.ceil);
  const maxUnavailable = resolve(parameters.maxUnavailable ?? '25%', replicas, Math.floor);
  return { replicas, maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

/** Returns the new sizes by name, for the ReplicaSets whose size changes in this step. `old` is sorted by age, the oldest first. */
export function nextSizes(
  update: RollingUpdate,
  current: ReplicaSetView,
  old: readonly ReplicaSetView[],
): Map<string, number> {
  const sizes = new Map<string, number>();
  const total = sum([current, ...old], (set) => set.replicas);
  const grown = grow(update, current, total);
  if (grown !== current.replicas) sizes.set(current.name, grown);
  for (const [name, size] of shrinkOld(update, current, old, total)) sizes.set(name, size);
  return sizes;
}

/** Sizes for the strategy Recreate: first the old pods are removed. When the last old pod is gone, the new ReplicaSet grows. */
export function recreateSizes(
  replicas: number,
  current: ReplicaSetView,
  old: readonly ReplicaSetView[],
  oldPods: number,
): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const set of old) if (set.replicas > 0) sizes.set(set.name, 0);
  if (sizes.size === 0 && oldPods === 0 && current.replicas !== replicas) sizes.set(current.name, replicas);
  return sizes;
}

function grow(update: RollingUpdate, current: ReplicaSetView, total: number): number {
  if (current.replicas >= update.replicas) return update.replicas;
  const room = update.replicas + update.maxSurge - total;
  return current.replicas + Math.max(0, Math.min(room, update.replicas - current.replicas));
}

/** Removes unavailable pods of old ReplicaSets first, because these pods serve no requests. */
function shrinkOld(
  update: RollingUpdate,
  current: ReplicaSetView,
  old: readonly ReplicaSetView[],
  total: number,
): Map<string, number> {
  const sizes = new Map(old.map((set) => [set.name, set.replicas]));
  const minAvailable = update.replicas - update.maxUnavailable;
  let spare = total - minAvailable - (current.replicas - current.available);
  for (const set of old) {
    const unhealthy = Math.max(0, Math.min(set.replicas - set.available, spare));
    sizes.set(set.name, set.replicas - unhealthy);
    spare -= unhealthy;
  }
  let spareAvailable = Math.min(spare, sum([current, ...old], (set) => set.available) - minAvailable);
  for (const set of old) {
    const size = sizes.get(set.name)!;
    const healthy = Math.max(0, Math.min(size, spareAvailable));
    sizes.set(set.name, size - healthy);
    spareAvailable -= healthy;
  }
  for (const set of old) if (sizes.get(set.name) === set.replicas) sizes.delete(set.name);
  return sizes;
}

/** The number for `25%` of the replicas, or a plain number. */
export function resolve(value: number | string, of: number, round: (value: number) => number): number {
  if (typeof value === 'number') return value;
  return value.endsWith('%') ? round((Number(value.slice(0, -1)) * of) / 100) : Number(value);
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
