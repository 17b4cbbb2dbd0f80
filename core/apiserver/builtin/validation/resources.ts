/** Amounts of resources: their names, their values, and how requests and limits belong together. */
import { parseQuantity } from '../../../match/cel/base/quantity.ts';
import { ownField } from '../../../object/json-value.ts';
import { dnsLabel, qualifiedName } from './formats.ts';
import {
  type FieldCheck,
  isPresent,
  listOf,
  type ReadValues,
  recordOf,
  recordsOf,
  type TextCheck,
  textOfForm,
  type Visit,
  wordOf,
} from './visit.ts';

/** The value of a quantity in units of 10⁻⁹. The types are checked before the rules, so a value that is no quantity counts as 0. */
export function nanosOf(value: unknown): bigint {
  return parseQuantity(String(value ?? 0))?.nanos ?? 0n;
}

const nanosOfOne = 1_000_000_000n;
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** The amount as Go writes it: `0.5` is `500m`, and `1024Mi` is `1Gi`. */
export function amountText(value: unknown): string {
  const given = String(value ?? 0);
  const nanos = nanosOf(value);
  const isSmall = nanos > -1024n * nanosOfOne && nanos < 1024n * nanosOfOne;
  if (given.endsWith('i') && !isSmall) return scaled(nanos / nanosOfOne, 1024n, binarySuffixes);
  const text = scaled(nanos, 1000n, decimalSuffixes);
  if (!/[eE][+-]?\d+$/.test(given)) return text;
  const suffix = /\D$/.exec(text)?.[0] ?? '';
  const exponent = 3 * decimalSuffixes.indexOf(suffix) - 9;
  return exponent === 0 ? text : `${text.slice(0, -1)}e${exponent}`;
}

/** The number with the greatest suffix that leaves it whole. */
function scaled(value: bigint, step: bigint, suffixes: readonly string[]): string {
  if (value === 0n) return '0';
  let index = 0;
  let rest = value;
  while (rest % step === 0n && index < suffixes.length - 1) {
    rest /= step;
    index += 1;
  }
  return `${rest}${suffixes[index]}`;
}

export const quantityNotNegative: FieldCheck = (value, at) => {
  if (nanosOf(value) < 0n) at.invalid('', amountText(value), 'must be greater than or equal to 0');
};

export const quantityPositive: FieldCheck = (value, at) => {
  if (nanosOf(value) <= 0n) at.invalid('', amountText(value), 'must be greater than zero');
};

const containerResources = ['cpu', 'memory', 'ephemeral-storage'];
const counted = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const requested = ['requests.cpu', 'requests.memory', 'requests.ephemeral-storage', 'requests.storage'];
const limited = ['limits.cpu', 'limits.memory', 'limits.ephemeral-storage'];
const quotaResources: ReadonlySet<string> = new Set([...containerResources, ...requested, ...limited, ...counted]);
const standardResources: ReadonlySet<string> = new Set([...quotaResources, 'storage']);
const integers: ReadonlySet<string> = new Set(counted);

export function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

function isQuotaHugePages(name: string): boolean {
  return isHugePages(name) || name.startsWith('requests.hugepages-');
}

export function isQuotaResource(name: string): boolean {
  return quotaResources.has(name) || isQuotaHugePages(name);
}

function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && qualifiedName(`requests.${name}`).length === 0;
}

export function mayOvercommit(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

/** Mistakes in the name of a resource. */
export const anyResourceName: TextCheck = (name) => {
  const mistakes = qualifiedName(name);
  if (mistakes.length > 0 || name.includes('/')) return mistakes;
  const isStandard = standardResources.has(name) || isQuotaHugePages(name);
  return isStandard ? [] : ['must be a standard resource type or fully qualified'];
};

export const containerResourceName: TextCheck = (name) => {
  const mistakes = anyResourceName(name);
  if (!name.includes('/')) {
    const isStandard = containerResources.includes(name) || isHugePages(name);
    return isStandard ? mistakes : [...mistakes, 'must be a standard resource for containers'];
  }
  return isNative(name) || isExtended(name)
    ? mistakes
    : [...mistakes, "doesn't follow extended resource name standard"];
};

export const quotaResourceName: TextCheck = (name) => {
  const mistakes = anyResourceName(name);
  return name.includes('/') || isQuotaResource(name)
    ? mistakes
    : [...mistakes, 'must be a standard resource for quota'];
};

export function resourceAmount(name: string): FieldCheck {
  return (value, at) => {
    quantityNotNegative(value, at);
    const isInteger = integers.has(name) || isExtended(name);
    if (isInteger && nanosOf(value) % nanosOfOne !== 0n) at.invalid('', amountText(value), 'must be an integer');
  };
}

/** A map of resource names to amounts. */
export function amounts(name: TextCheck): FieldCheck {
  return (value, at) => {
    for (const [resource, amount] of Object.entries(recordOf(value))) {
      at.into(`[${resource}]`, resource, textOfForm(name));
      at.into(`[${resource}]`, amount, resourceAmount(resource));
    }
  };
}

function hugePages(name: string, amount: unknown, at: Visit): void {
  const size = parseQuantity(name.slice('hugepages-'.length))?.nanos;
  const isMultiple = size !== undefined && size > 0n && size % nanosOfOne === 0n && nanosOf(amount) % size === 0n;
  if (!isMultiple)
    at.invalid('', amountText(amount), `${amountText(amount)} is not positive integer multiple of ${name}`);
}

/** The names of the claims of a pod, for the containers that use them. */
export type ClaimNames = ReadonlySet<unknown>;

export function requirements(name: (resource: string, at: Visit) => void, claims: ClaimNames): FieldCheck {
  return (value, at) => {
    const { limits, requests, claims: used } = recordOf(value);
    const maximal = recordOf(limits);
    for (const [resource, amount] of Object.entries(maximal)) amountOf('limits', resource, amount, name, at);
    for (const [resource, amount] of Object.entries(recordOf(requests))) {
      amountOf('requests', resource, amount, name, at);
      compareToLimit(resource, amount, maximal, at);
    }
    const names = [...Object.keys(maximal), ...Object.keys(recordOf(requests))];
    if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) {
      at.forbidden('', 'HugePages require cpu or memory');
    }
    at.into('claims', used, usedClaims(claims));
  };
}

function amountOf(
  list: string,
  resource: string,
  amount: unknown,
  name: (resource: string, at: Visit) => void,
  at: Visit,
): void {
  at.into(list, undefined, () =>
    at.into(`[${resource}]`, amount, () => {
      name(resource, at);
      resourceAmount(resource)(amount, at);
      if (isHugePages(resource)) hugePages(resource, amount, at);
    }),
  );
}

function compareToLimit(resource: string, amount: unknown, limits: ReadValues, at: Visit): void {
  const limit = ownField(limits, resource);
  const mayBeLess = mayOvercommit(resource);
  if (!isPresent(limit)) {
    if (!mayBeLess) at.required('limits', 'Limit must be set for non overcommitable resources');
  } else if (!mayBeLess && nanosOf(amount) !== nanosOf(limit)) {
    at.invalid('requests', amountText(amount), `must be equal to ${resource} limit of ${amountText(limit)}`);
  } else if (nanosOf(amount) > nanosOf(limit)) {
    at.invalid(
      'requests',
      amountText(amount),
      `must be less than or equal to ${resource} limit of ${amountText(limit)}`,
    );
  }
}

function usedClaims(claims: ClaimNames): FieldCheck {
  return (value, at) => {
    const seen = new Set<string>();
    for (const [i, { name, request }] of recordsOf(value).entries()) {
      const claim = wordOf(name);
      if (claim === '') at.required(`[${i}]`);
      else if (seen.has(claim)) at.duplicate(`[${i}]`, claim);
      else {
        if (request) at.into(i, request, (given) => at.into('request', given, textOfForm(dnsLabel)));
        const key = request ? `${claim}/${wordOf(request)}` : claim;
        const isRepeated = request ? seen.has(key) : [...seen].some((other) => other.startsWith(`${claim}/`));
        if (isRepeated) at.duplicate(`[${i}]`, key);
        seen.add(key);
      }
      if (claim === '' || claims.has(claim)) continue;
      const names = [...claims].sort().join(', ');
      const list = claims.size === 0 ? ' which is empty' : `: ${names}`;
      at.notFound(`[${i}]`, claim, `must be one of the names in pod.spec.resourceClaims${list}`);
    }
  };
}

/** Checks the name of a container's resource, which is also the last part of the path. */
export function containerResource(resource: string, at: Visit): void {
  for (const mistake of containerResourceName(resource)) at.invalid('', resource, mistake);
}

const podResources = ['cpu', 'memory'];

export function podLevelResource(resource: string, at: Visit): void {
  const mistakes = anyResourceName(resource);
  for (const mistake of mistakes) at.invalid('', resource, mistake);
  if (mistakes.length === 0 && !podResources.includes(resource) && !isHugePages(resource)) {
    at.unsupported('', resource, ['cpu', 'hugepages-', 'memory']);
  }
}

export function claimNamesOf(claims: unknown): ClaimNames {
  return new Set(
    listOf(claims)
      .map((claim) => recordOf(claim).name)
      .filter((name) => name),
  );
}
