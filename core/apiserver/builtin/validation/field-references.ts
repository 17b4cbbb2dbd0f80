/** References to fields of a pod and to resources of its containers: in variables of containers, and in files of volumes. */
import { qualifiedName } from './formats.ts';
import { nanosOf } from './resources.ts';
import { type FieldCheck, ifGiven, recordOf, wordOf } from './visit.ts';

/** The fields of a pod that its volumes can show as files. */
export const volumeFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
const resourceFields = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
/** The fields that Kubernetes itself can convert to its internal Pod. */
const convertible: ReadonlySet<string> = new Set([
  ...volumeFields,
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);

export function fieldSelector(supported: readonly string[]): FieldCheck {
  return ifGiven((value, at) => {
    const { fieldPath, apiVersion = 'v1' } = recordOf(value);
    const path = wordOf(fieldPath);
    if (path === '') {
      at.required('fieldPath');
      return;
    }
    if (apiVersion !== 'v1') {
      at.invalid('fieldPath', path, `error converting fieldPath: unsupported pod version: ${wordOf(apiVersion)}`);
      return;
    }
    const { base, subscript } = partsOf(path);
    const isConvertible = base === undefined ? convertible.has(path) : /^metadata\.(annotations|labels)$/.test(base);
    if (!isConvertible) {
      const why =
        base === undefined ? `field label not supported: ${path}` : `field label does not support subscript: ${path}`;
      at.invalid('fieldPath', path, `error converting fieldPath: ${why}`);
    } else if (base === undefined) {
      if (!supported.includes(path)) at.unsupported('fieldPath', path, supported);
    } else {
      const key = base.endsWith('annotations') ? subscript.toLowerCase() : subscript;
      for (const mistake of qualifiedName(key)) at.invalid('', key, mistake);
    }
  });
}

/** Splits `metadata.labels['app']` into the field and the key. A path without a key has no base. */
function partsOf(path: string): { base?: string; subscript: string } {
  const cut = path.indexOf("['");
  if (cut < 1 || !path.endsWith("']") || path.length < cut + 4) return { subscript: '' };
  return { base: path.slice(0, cut), subscript: path.slice(cut + 2, -2) };
}

const sizes = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

export function resourceFieldSelector(isInVolume: boolean): FieldCheck {
  return ifGiven((value, at) => {
    const { containerName, resource, divisor } = recordOf(value);
    const name = wordOf(resource);
    if (isInVolume && !containerName) at.required('containerName');
    else if (name === '') at.required('resource');
    else if (!resourceFields.includes(name) && !/^(requests|limits)\.hugepages-/.test(name)) {
      at.unsupported('resource', name, resourceFields);
    }
    if (nanosOf(divisor) === 0n) return;
    const isCpu = name.endsWith('.cpu');
    const allowed = isCpu ? ['1m', '1'] : sizes;
    if (allowed.some((size) => nanosOf(size) === nanosOf(divisor))) return;
    const kind = name.endsWith('.memory')
      ? 'memory'
      : name.endsWith('.ephemeral-storage')
        ? 'local ephemeral storage'
        : 'hugepages';
    if (isCpu) at.invalid('divisor', name, "only divisor's values 1m and 1 are supported with the cpu resource");
    else if (resourceFields.includes(name) || name.includes('.hugepages-')) {
      at.invalid('divisor', name, `only divisor's values ${sizes.join(', ')} are supported with the ${kind} resource`);
    }
  });
}
