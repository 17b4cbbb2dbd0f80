/** Warnings about the containers of a pod. */
import { recordsIn, type Values } from '../../../object/pod-template.ts';
import { numberOf, wordOf } from '../validation/visit.ts';
import { fractionalBytes, valuesIn, type Warnings } from './warning.ts';

export interface PlacedContainer {
  readonly path: string;
  readonly container: Values;
}

export function* amountWarnings({ path, container }: PlacedContainer): Warnings {
  for (const name of ['memory', 'ephemeral-storage']) {
    for (const list of ['limits', 'requests']) {
      yield* fractionalBytes(valuesIn(container, 'resources', list), name, `${path}.resources.${list}`);
    }
  }
}

/** A variable may refer to its earlier value: PATH=/opt:$(PATH). Such a variable hides nothing. */
export function* hiddenVariables({ path, container }: PlacedContainer): Warnings {
  for (const { index, key, item } of repeated(recordsIn(container, 'env'), ({ name }) => wordOf(name))) {
    const reference = `$(${key})`;
    const value = wordOf(item.value);
    const refers = item.valueFrom === undefined && value !== reference && value.includes(reference);
    if (refers) continue;
    yield `${path}.env[${index}]: hides previous definition of ${JSON.stringify(key)}, which may be dropped when using apply`;
  }
}

interface PlacedPort {
  readonly path: string;
  readonly port: Values;
}

/** Each port is compared with as many earlier ones of the same number. A pod of 1.5 MB could have 30,000 of them. */
const comparedMax = 100;

/** The containers of a pod share its ports. */
export function* portWarnings(containers: readonly PlacedContainer[]): Warnings {
  const ports = containers.flatMap(({ path, container }) =>
    recordsIn(container, 'ports').map((port, i) => ({ path: `${path}.ports[${i}]`, port })),
  );
  yield* sharedPorts(ports);
  const names = new Map<string, string>();
  for (const { path, port } of ports) {
    const name = wordOf(port.name);
    const other = names.get(name);
    if (other !== undefined) {
      yield `${path}: duplicate port name ${JSON.stringify(name)} with ${other}, services and probes that select ports by name will use ${other}`;
    } else if (name !== '') names.set(name, path);
  }
}

function* sharedPorts(ports: readonly PlacedPort[]): Warnings {
  const byNumber = new Map<string, PlacedPort[]>();
  for (const placed of ports) {
    const { path, port } = placed;
    const { containerPort, protocol = 'TCP' } = port;
    if (port.hostIP && !port.hostPort) yield `${path}: hostIP set without hostPort: ${goText(port)}`;
    const key = `${numberOf(containerPort)}/${wordOf(protocol)}`;
    const others = byNumber.get(key) ?? [];
    for (const other of others) {
      const how = overlap(port, other.port);
      if (how !== undefined) yield `${path}: ${how} port definition with ${other.path}`;
    }
    if (others.length < comparedMax) byNumber.set(key, [...others, placed]);
  }
}

/** A port as Go shows it. */
function goText({ name, containerPort, protocol = 'TCP', hostIP }: Values): string {
  const words = { Name: name, HostPort: 0, ContainerPort: containerPort, Protocol: protocol, HostIP: hostIP };
  const shown = Object.entries(words).map(([field, value]) => `${field}:${String(value ?? '')}`);
  return `{${shown.join(' ')}}`;
}

function overlap(a: Values, b: Values): string | undefined {
  const { hostIP: ip = '', hostPort: port = 0 } = a;
  const { hostIP: otherIp = '', hostPort: otherPort = 0 } = b;
  if (ip === otherIp && port === otherPort) return 'duplicate';
  if (port === 0 || otherPort === 0) return 'overlapping';
  return port === otherPort && (ip === '') !== (otherIp === '') ? 'dangerously ambiguous' : undefined;
}

/** The items whose key an earlier item has. */
export function* repeated<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): Iterable<{ index: number; key: string; item: T }> {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    if (seen.has(key)) yield { index, key, item };
    seen.add(key);
  }
}
