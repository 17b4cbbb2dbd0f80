/** Finalizers: names in `metadata.finalizers` of the parts that have to act before an object may disappear. */
import type { KubeObject } from './meta.ts';

/**
 * Whether a controller that is no part of Kubernetes has to act before the object may disappear. Only the controller removes its finalizer, so the object
 * has to go before the controller. Finalizers of Kubernetes itself do not count: they have no domain (`foregroundDeletion`) or a domain of Kubernetes
 * (`kubernetes.io/pvc-protection`). Some of them wait for the workloads to go, so workloads must not wait for them.
 */
export function hasControllerFinalizers({ metadata }: Pick<KubeObject, 'metadata'>): boolean {
  return (metadata.finalizers ?? []).some((name) => {
    const domain = name.slice(0, Math.max(name.indexOf('/'), 0));
    return domain !== '' && !/(^|\.)kubernetes\.io$/.test(domain);
  });
}
