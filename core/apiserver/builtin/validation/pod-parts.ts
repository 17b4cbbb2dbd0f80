/** The rules of the subresources that write a part of a Pod. The rules of a Pod say what else is wrong with the new state. */
import { nanosOf } from './resources.ts';
import { isSameValue } from './updates.ts';
import { listOf, type ReadValues, recordOf, recordsOf, type Visit } from './visit.ts';

type PartRule = (spec: ReadValues, old: ReadValues, at: Visit) => void;

/** True for a subresource that writes a part of a Pod. Nobody may change the node of a Pod but by its own subresource. */
export function isPodPart(subresource: string | undefined): subresource is string {
  return subresource === 'binding' || Object.hasOwn(podParts, subresource ?? '');
}

export const podParts: Readonly<Record<string, PartRule>> = {
  ephemeralcontainers(spec, old, at) {
    const now = recordsOf(spec.ephemeralContainers);
    for (const before of recordsOf(old.ephemeralContainers)) {
      const name = JSON.stringify(before.name);
      const after = now.find((one) => one.name === before.name);
      if (!after)
        at.forbidden('spec.ephemeralContainers', `existing ephemeral containers ${name} may not be removed\n`);
      else if (!isSameValue(after, before, at.fieldAt('spec.ephemeralContainers.*'))) {
        at.forbidden('spec.ephemeralContainers', `existing ephemeral containers ${name} may not be changed`);
      }
    }
  },
  resize(spec, old, at) {
    const [now, before] = [containersOf(spec), containersOf(old)];
    if (now.map(({ name }) => name).join() !== before.map(({ name }) => name).join()) {
      at.forbidden('spec.containers', 'containers may not be added or removed on resize');
      return;
    }
    const others = (list: readonly ReadValues[]) => list.map((container) => fixedResources(container));
    if (!isSameValue(others(now), others(before))) {
      at.forbidden('spec', 'only cpu and memory resources are mutable');
    }
    const quality = qualityOf(before);
    if (quality !== qualityOf(now)) {
      at.invalid('spec', quality, 'Pod QOS Class may not change as a result of resizing');
    }
    for (const list of ['containers', 'initContainers']) {
      for (const [i, container] of recordsOf(spec[list]).entries()) {
        const former = recordOf(recordsOf(old[list])[i]);
        for (const which of ['requests', 'limits']) {
          if (!isRemoved(amountsOf(former, which), amountsOf(container, which))) continue;
          at.forbidden(`spec.${list}[${i}].resources.${which}`, `resource ${which} cannot be removed`);
        }
      }
    }
  },
};

const resizable: ReadonlySet<string> = new Set(['cpu', 'memory']);

function containersOf(spec: ReadValues): readonly ReadValues[] {
  return [...recordsOf(spec.containers), ...recordsOf(spec.initContainers)];
}

function amountsOf(container: ReadValues, of: string): ReadValues {
  return recordOf(recordOf(container.resources)[of]);
}

/** The resources of a container that a resize may not change. */
function fixedResources(container: ReadValues): ReadValues {
  const kept = (of: string) => Object.entries(amountsOf(container, of)).filter(([name]) => !resizable.has(name));
  return {
    claims: listOf(recordOf(container.resources).claims),
    limits: Object.fromEntries(kept('limits')),
    requests: Object.fromEntries(kept('requests')),
  };
}

function isRemoved(before: ReadValues, after: ReadValues): boolean {
  return [...resizable].some((name) => before[name] !== undefined && after[name] === undefined);
}

/** The class by which a kubelet chooses whom it evicts. As in Kubernetes, an amount of zero counts as absent. */
function qualityOf(containers: readonly ReadValues[]): string {
  const amounts = (container: ReadValues, of: string) =>
    [...resizable].map((name) => nanosOf(amountsOf(container, of)[name]));
  const given = containers.flatMap((container) => [...amounts(container, 'requests'), ...amounts(container, 'limits')]);
  if (given.every((amount) => amount === 0n)) return 'BestEffort';
  const isGuaranteed = containers.every((container) => {
    const [limits, requests] = [amounts(container, 'limits'), amounts(container, 'requests')];
    return limits.every((limit, at) => limit !== 0n && limit === requests[at]);
  });
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}
