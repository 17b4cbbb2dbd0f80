/** PodDisruptionBudgets: computes how many of the selected pods may be evicted now. */
import { timestamp, withCondition } from '../../../../core/object/conditions.ts';
import type { GroupResource, ObjectKey } from '../../../../core/object/key.ts';
import type { Condition, KubeObject } from '../../../../core/object/meta.ts';
import { type LabelSelector, matchesSelector } from '../../../../core/object/selector.ts';
import type { Clock } from '../../../../core/runtime/clock.ts';
import type { Controller, OwnerWatch } from './controller.ts';
import type { Objects } from './objects.ts';
import { isActive, isReady, type Pod, podResource } from './pods.ts';
import { resolve } from './rolling-update.ts';

interface DisruptionBudget extends KubeObject {
  spec: { selector?: LabelSelector; minAvailable?: number | string; maxUnavailable?: number | string };
  status?: { conditions?: Condition[] };
}

const budgetResource: GroupResource = { group: 'policy', resource: 'poddisruptionbudgets' };

const pods: OwnerWatch = {
  resource: podResource,
  concerned(pod, objects) {
    const namespace = pod.metadata.namespace ?? '';
    const budgets = objects.list(budgetResource, { namespace }) as DisruptionBudget[];
    return budgets
      .filter((budget) => selects(budget, pod))
      .map((budget) => ({ ...budgetResource, namespace, name: budget.metadata.name ?? '' }));
  },
};

export class DisruptionBudgetController implements Controller {
  readonly name = 'disruption-controller';
  readonly resource = budgetResource;
  readonly watches = [pods];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reconcile(object: KubeObject, key: ObjectKey, objects: Objects): undefined {
    const budget = object as DisruptionBudget;
    const { minAvailable, maxUnavailable } = budget.spec;
    const all = objects.list(podResource, { namespace: key.namespace }) as Pod[];
    const selected = all.filter((pod) => isActive(pod) && selects(budget, pod));
    const expectedPods = selected.length;
    const desiredHealthy =
      minAvailable !== undefined
        ? resolve(minAvailable, expectedPods, Math.ceil)
        : Math.max(0, expectedPods - resolve(maxUnavailable ?? 0, expectedPods, Math.ceil));
    const currentHealthy = selected.filter(isReady).length;
    const disruptionsAllowed = Math.max(0, currentHealthy - desiredHealthy);
    const condition = {
      type: 'DisruptionAllowed',
      status: disruptionsAllowed > 0 ? ('True' as const) : ('False' as const),
      reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
      message: '',
      observedGeneration: budget.metadata.generation ?? 1,
    };
    objects.writeStatus(budget, {
      observedGeneration: budget.metadata.generation ?? 1,
      expectedPods,
      desiredHealthy,
      currentHealthy,
      disruptionsAllowed,
      conditions: withCondition(budget.status?.conditions ?? [], condition, timestamp(this.#clock.wallMs())),
    });
  }
}

/** Whether the budget selects the pod. In policy/v1, an empty selector selects every pod of the namespace, and an absent selector selects none. */
function selects(budget: DisruptionBudget, pod: KubeObject): boolean {
  return budget.spec.selector !== undefined && matchesSelector(budget.spec.selector, pod.metadata.labels ?? {});
}
