/** Subresources that write one part of an object: everything else stays as it is stored, whatever the client sends. */
import { cloneJson, ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { PartName } from '../space.ts';
import type { FilledIn } from './filled-in.ts';
import { keepServerMeta } from './object-meta.ts';

interface Container {
  readonly name?: string;
  readonly resources?: unknown;
  readonly resizePolicy?: unknown;
}

interface PodSpec {
  readonly nodeName?: string;
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: unknown;
}

/** The fields that a subresource writes for its space alone. They do not travel. A resize does: an agent makes the Pod anew where that is allowed. */
const ofSpace: Readonly<Record<string, FilledIn>> = {
  binding: { spec: { nodeName: 1 } },
  ephemeralcontainers: { spec: { ephemeralContainers: 1 } },
};

/** Changes `next`, a copy of the stored object, in place. */
type Part = (next: KubeObject, sent: KubeObject) => void;

const parts: Readonly<Record<PartName, Part>> = {
  approval(next, sent) {
    keepServerMeta(sent.metadata, next.metadata);
    next.metadata = sent.metadata;
    const { conditions } = (sent.status ?? {}) as { conditions?: unknown };
    next.status = { ...(next.status as object | undefined), conditions };
  },
  binding(next, sent) {
    const { annotations } = sent.metadata;
    if (annotations) next.metadata.annotations = annotations;
    next.spec = { ...(next.spec as PodSpec), nodeName: (sent.spec as PodSpec).nodeName };
    next.status = sent.status;
  },
  ephemeralcontainers(next, sent) {
    const { ephemeralContainers } = (sent.spec ?? {}) as PodSpec;
    next.spec = { ...(next.spec as PodSpec), ephemeralContainers };
  },
  resize(next, sent) {
    const [before, after] = [next.spec as PodSpec, (sent.spec ?? {}) as PodSpec];
    const resized = (list: 'containers' | 'initContainers') => resizedContainers(before[list], after[list]);
    next.spec = { ...before, containers: resized('containers'), initContainers: resized('initContainers') };
  },
};

export function isPart(subresource: string | undefined): subresource is PartName {
  return subresource !== undefined && Object.hasOwn(parts, subresource);
}

/** The fields that a write of the subresource gives to the space alone. */
export function noteOfPart(subresource: string | undefined): FilledIn | undefined {
  return subresource === undefined ? undefined : ownField(ofSpace, subresource);
}

/** The stored object with the part of the sent object. */
export function withPart(part: PartName, old: KubeObject, sent: KubeObject): KubeObject {
  const next = cloneJson(old);
  parts[part](next, sent);
  return next;
}

/** The Pod on its node. `scheduled` is the time of the condition `PodScheduled`. */
export function boundPod(pod: KubeObject, nodeName: string, scheduled: string): KubeObject {
  const status = (pod.status ?? {}) as { conditions?: { type: string }[] };
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
  const condition = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: scheduled };
  return {
    ...pod,
    spec: { ...(pod.spec as PodSpec), nodeName },
    status: { ...status, conditions: [...others, condition] },
  };
}

/** If containers come or go, the list is the sent one, and the rules refuse it. */
function resizedContainers(before: readonly Container[] | undefined, after: readonly Container[] = []) {
  const names = (list: readonly Container[] = []) => list.map(({ name }) => name).join();
  if (names(before) !== names(after)) return after;
  return before?.map((container, at) => {
    const { resources: _resources, resizePolicy: _policy, ...kept } = container;
    const { resources, resizePolicy } = after[at]!;
    return { ...kept, resources, ...(resizePolicy === undefined ? {} : { resizePolicy }) };
  });
}
