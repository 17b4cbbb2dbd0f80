/**
 * Lists whose items have keys, with one key twice. A Kubernetes API server refuses some of them in every request, and warns about the others. A server-side
 * apply refuses all of them (managed-fields/duplicate-items.ts). The messages are those of Kubernetes (pkg/api/pod/warnings.go, pkg/apis/core/validation).
 */
import { duplicate, invalidField } from '../../object/field-error.ts';
import type { KubeObject } from '../../object/meta.ts';
import { containersOf, type PodSpecOf, podSpecOf, recordsIn, type Values } from '../../object/pod-template.ts';
import type { Cause } from '../../runtime/errors.ts';

/** Items that no API server accepts twice. */
export function checkListItems(kind: string, object: KubeObject): Cause[] {
  if (kind === 'Service') return checkServicePorts((object.spec ?? {}) as Values);
  if (webhookConfigurations.has(kind)) return repeatedNames(object, 'webhooks', 'webhooks');
  const pod = podSpecOf(kind, object);
  if (!pod) return [];
  const { path, spec } = pod;
  return [
    ...repeatedNames(spec, 'volumes', `${path}.volumes`),
    ...repeatedNames(spec, 'resourceClaims', `${path}.resourceClaims`),
    ...repeated(recordsIn(spec, 'schedulingGates'), ({ name }) => name).map(({ index, key }) =>
      duplicate(`${path}.schedulingGates[${index}]`, key),
    ),
    ...repeatedConstraints(recordsIn(spec, 'topologySpreadConstraints'), `${path}.topologySpreadConstraints`),
    ...repeatedInitContainers(pod),
    ...repeatedHostPorts(pod),
    ...containersOf(pod).flatMap(({ path: at, container }) => [
      ...mustBeUnique(container, 'volumeMounts', 'mountPath', at),
      ...mustBeUnique(container, 'volumeDevices', 'name', at),
      ...mustBeUnique(container, 'volumeDevices', 'devicePath', at),
      ...repeated(recordsIn(container, 'ports'), ({ name }) => name).map(({ index, key }) =>
        duplicate(`${at}.ports[${index}].name`, key),
      ),
    ]),
  ];
}

const webhookConfigurations: ReadonlySet<string> = new Set([
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
]);

function repeatedNames(owner: Values, list: string, path: string): Cause[] {
  return repeated(recordsIn(owner, list), ({ name }) => name).map(({ index, key }) =>
    duplicate(`${path}[${index}].name`, key),
  );
}

/** Kubernetes names the first of two equal constraints. */
function repeatedConstraints(constraints: readonly Values[], path: string): Cause[] {
  const keyOf = ({ topologyKey, whenUnsatisfiable }: Values) =>
    `{${String(topologyKey)}, ${String(whenUnsatisfiable)}}`;
  return constraints.flatMap((constraint, index) => {
    const key = keyOf(constraint);
    const isRepeated = constraints.slice(index + 1).some((other) => keyOf(other) === key);
    return isRepeated ? [duplicate(`${path}[${index}].{topologyKey, whenUnsatisfiable}`, key)] : [];
  });
}

/** An init container needs a name that no container has. */
function repeatedInitContainers({ path, spec }: PodSpecOf): Cause[] {
  const names = new Set(recordsIn(spec, 'containers').map(({ name }) => name));
  return recordsIn(spec, 'initContainers').flatMap(({ name }, index) =>
    name !== undefined && names.has(name) ? [duplicate(`${path}.initContainers[${index}].name`, name)] : [],
  );
}

/** Two containers of a pod can't have the same port of the node. */
function repeatedHostPorts({ path, spec }: PodSpecOf): Cause[] {
  const ports = recordsIn(spec, 'containers').flatMap((container, i) =>
    recordsIn(container, 'ports').map((port, j) => ({ port, at: `${path}.containers[${i}].ports[${j}].hostPort` })),
  );
  return repeated(ports, ({ port: { hostPort, hostIP = '', protocol = 'TCP' } }) =>
    hostPort ? `${String(protocol)}/${String(hostIP)}/${String(hostPort)}` : undefined,
  ).map(({ item, key }) => duplicate(item.at, key));
}

function mustBeUnique(container: Values, list: string, field: string, at: string): Cause[] {
  return repeated(recordsIn(container, list), (item) => item[field]).map(({ index, key }) =>
    invalidField(`${at}.${list}[${index}].${field}`, key, 'must be unique'),
  );
}

function checkServicePorts(spec: Values): Cause[] {
  const ports = recordsIn(spec, 'ports');
  return [
    ...repeated(ports, ({ name }) => name).map(({ index, key }) => duplicate(`spec.ports[${index}].name`, key)),
    ...repeated(ports, portKey).map(({ index, item: { port, protocol = 'TCP' } }) =>
      duplicate(`spec.ports[${index}]`, { protocol, port }),
    ),
  ];
}

/** Warnings about items that an API server accepts twice, although one of them has no effect or an apply may drop it. */
export function warningsAboutItems(kind: string, object: KubeObject): string[] {
  const pod = podSpecOf(kind, object);
  if (!pod) return [];
  const { path, spec } = pod;
  const twice = (list: string, field: string) =>
    repeated(recordsIn(spec, list), (item) => item[field]).map(
      ({ index, key }) => `${path}.${list}[${index}].${field}: duplicate ${field} ${JSON.stringify(key)}`,
    );
  const containers = containersOf(pod);
  return [
    ...twice('hostAliases', 'ip'),
    ...twice('imagePullSecrets', 'name'),
    ...containers.flatMap(({ path: at, container }) => hiddenVariables(recordsIn(container, 'env'), at)),
    ...repeatedPorts(containers),
  ];
}

/** A variable may refer to its earlier value: PATH=/opt:$(PATH). Such a variable hides nothing. */
function hiddenVariables(env: readonly Values[], at: string): string[] {
  return repeated(env, ({ name }) => name)
    .filter(({ item: { value, valueFrom }, key }) => {
      const reference = `$(${key})`;
      return valueFrom !== undefined || value === reference || !String(value ?? '').includes(reference);
    })
    .map(
      ({ index, key }) =>
        `${at}.env[${index}]: hides previous definition of ${JSON.stringify(key)}, which may be dropped when using apply`,
    );
}

/** The containers of a pod share its ports. */
function repeatedPorts(containers: readonly { path: string; container: Values }[]): string[] {
  const seen = new Map<unknown, { at: string; port: Values }[]>();
  const warnings: string[] = [];
  for (const { path, container } of containers) {
    for (const [i, port] of recordsIn(container, 'ports').entries()) {
      const at = `${path}.ports[${i}]`;
      const key = portKey({ ...port, port: port.containerPort });
      const others = seen.get(key) ?? [];
      for (const other of others) {
        const how = overlap(port, other.port);
        if (how !== undefined) warnings.push(`${at}: ${how} port definition with ${other.at}`);
      }
      seen.set(key, [...others, { at, port }]);
    }
  }
  return warnings;
}

function overlap(a: Values, b: Values): string | undefined {
  const { hostIP: ip = '', hostPort: port = 0 } = a;
  const { hostIP: otherIp = '', hostPort: otherPort = 0 } = b;
  if (ip === otherIp && port === otherPort) return 'duplicate';
  if (port === 0 || otherPort === 0) return 'overlapping';
  return port === otherPort && (ip === '') !== (otherIp === '') ? 'dangerously ambiguous' : undefined;
}

function portKey({ port, protocol = 'TCP' }: Values): string | undefined {
  return port === undefined ? undefined : `${String(port)}/${String(protocol)}`;
}

/** The items whose key an earlier item has. Items without a key are left out. */
function repeated<T>(items: readonly T[], keyOf: (item: T) => unknown): { index: number; key: unknown; item: T }[] {
  const seen = new Set<unknown>();
  return items.flatMap((item, index) => {
    const key = keyOf(item);
    if (key === undefined || key === '') return [];
    if (seen.has(key)) return [{ index, key, item }];
    seen.add(key);
    return [];
  });
}
