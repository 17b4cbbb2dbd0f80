/** For `banyan why`: the reasons why an object is held back from a cluster, as its placements show them at the origin and at the last hop. */
import type { KubeObject } from '../../core/object/meta.ts';

/** One placement, as its origin and the agent's parent show it. */
export interface ShownPlacement {
  readonly name: string;
  readonly origin: KubeObject | undefined;
  readonly lastHop: KubeObject | undefined;
}

interface ShownPlacementStatus {
  readonly rollout?: { readonly release: number; readonly phase: string; readonly message: string };
  readonly failures?: readonly { path: string; object: string; reason: string; message: string }[];
  readonly conditions?: readonly { type: string; status: string; message: string }[];
}

/** `object` is the name of the object in failures: `configmaps shop/greeting`. */
export function heldBack({ name, origin, lastHop }: ShownPlacement, at: string, object: string): string[] {
  return [...releaseOf(name, origin, lastHop), ...moveOf(name, lastHop), ...failuresOf(name, lastHop, at, object)];
}

function releaseOf(name: string, origin: KubeObject | undefined, lastHop: KubeObject | undefined): string[] {
  const [above, below] = [statusOf(origin).rollout, statusOf(lastHop).rollout];
  if (!above || above.phase === 'Promoted') return [];
  const line = `${name}: release ${above.release} is not promoted (${above.phase}): ${above.message}`;
  const isOther = lastHop !== origin && below !== undefined && below.message !== above.message;
  return isOther ? [line, `${name}: release ${below.release} at the parent of the agent: ${below.message}`] : [line];
}

function moveOf(name: string, lastHop: KubeObject | undefined): string[] {
  const moving = statusOf(lastHop).conditions?.find(({ type, status }) => type === 'Moving' && status === 'True');
  return moving ? [`${name}: a move is under way: ${moving.message}`] : [];
}

/** Whether another source has the object at the cluster. */
export function isConflicted({ lastHop }: ShownPlacement, at: string, object: string): boolean {
  return failuresAt(lastHop, at, object).some(({ reason }) => reason === 'Conflicted');
}

function failuresOf(name: string, lastHop: KubeObject | undefined, at: string, object: string): string[] {
  return failuresAt(lastHop, at, object).map(({ reason, message }) => `${name}: ${reason}: ${message}`);
}

function failuresAt(lastHop: KubeObject | undefined, at: string, object: string) {
  return (statusOf(lastHop).failures ?? []).filter((one) => one.path === at && one.object === object);
}

function statusOf(placement: KubeObject | undefined): ShownPlacementStatus {
  return (placement?.status ?? {}) as ShownPlacementStatus;
}
