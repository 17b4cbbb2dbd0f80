/**
 * Fields that an API server has filled in, and that must go with a change of another field. They belong to no manager, and server-side apply removes only fields
 * of the applying manager, so the server refuses the change: https://github.com/kubernetes/kubernetes/issues/24198. The known case is a Deployment that gets the
 * strategy `Recreate`: it must not have the parameters of a rolling update. A client-side apply removes them.
 */
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';

const field = 'spec.strategy.rollingUpdate';
const message = 'may not be specified when strategy `type` is';

/** Whether the cluster refuses the change of a Deployment only because the parameters of its former strategy are still there. */
export function isAboutLeftField(refusal: unknown): boolean {
  if (!(refusal instanceof BanyanError) || refusal.code !== 'Invalid') return false;
  const { causes = [] } = refusal.details;
  return causes.length > 0 && causes.every((cause) => cause.field === field && cause.message.includes(message));
}

/**
 * The object with the spec that the cluster has now. An apply of it changes nothing of the workload, and makes the agent own every field of the spec: the next
 * apply removes the fields that the desired object does not have.
 */
export function withLiveSpec(object: KubeObject, { spec }: KubeObject): KubeObject {
  return { ...object, spec };
}
