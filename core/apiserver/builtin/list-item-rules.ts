/**
 * Lists whose items have keys, with one key twice. A Kubernetes API server refuses some of them in every request (validation/), and warns about the others. A
 * server-side apply refuses all of them (managed-fields/duplicate-items.ts). The messages are those of Kubernetes (pkg/api/pod/warnings.go).
 */
import type { KubeObject } from '../../object/meta.ts';
import { containersOf, podSpecOf, recordsIn, type Values } from '../../object/pod-template.ts';

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
