/** The semver library of Kubernetes (k8s.io/apiserver/pkg/cel/library/semverlib.go), over versions as https://semver.org defines them. */
import type { Environment } from '@marcbachmann/cel-js';
import { definer } from './define.ts';

const type = 'kubernetes.Semver';
const numberText = '0|[1-9]\\d*';
const syntax = new RegExp(
  `^(${numberText})\\.(${numberText})\\.(${numberText})(?:-((?:${numberText}|\\d*[a-zA-Z-][\\da-zA-Z-]*)(?:\\.(?:${numberText}|\\d*[a-zA-Z-][\\da-zA-Z-]*))*))?(?:\\+([\\da-zA-Z-]+(?:\\.[\\da-zA-Z-]+)*))?$`,
);
/** Versions have numbers of 64 bits. */
const numberMax = 2n ** 64n - 1n;

export class Semver {
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly bigint[], prerelease: readonly string[]) {
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  equals(other: unknown): boolean {
    return other instanceof Semver && this.compare(other) === 0n;
  }

  /** -1, 0 or 1. Build metadata does not count. */
  compare(other: Semver): bigint {
    for (const [index, number] of this.numbers.entries()) {
      const order = compared(number, other.numbers[index]!);
      if (order !== 0n) return order;
    }
    return comparedPrereleases(this.prerelease, other.prerelease);
  }
}

export function addSemver(environment: Environment): void {
  const define = definer(environment);
  environment.registerType(type, Semver);
  environment.registerOperator(`${type} == ${type}`, (a: Semver, b: Semver) => a.equals(b));
  define(`semver(string): ${type}`, (text: string) => parse(text));
  define(`semver(string, bool): ${type}`, (text: string, normalize: boolean) => parse(normalize ? normal(text) : text));
  define('isSemver(string): bool', (text: string) => read(text) !== undefined);
  define(
    'isSemver(string, bool): bool',
    (text: string, normalize: boolean) => read(normalize ? normal(text) : text) !== undefined,
  );
  define(`${type}.isGreaterThan(${type}): bool`, (a: Semver, b: Semver) => a.compare(b) === 1n);
  define(`${type}.isLessThan(${type}): bool`, (a: Semver, b: Semver) => a.compare(b) === -1n);
  define(`${type}.compareTo(${type}): int`, (a: Semver, b: Semver) => a.compare(b));
  for (const [index, name] of ['major', 'minor', 'patch'].entries()) {
    define(`${type}.${name}(): int`, (version: Semver) => version.numbers[index]);
  }
}

function parse(text: string): Semver {
  const version = read(text);
  if (!version) throw new TypeError(`not a semantic version: ${JSON.stringify(text)}`);
  return version;
}

function read(text: string): Semver | undefined {
  const parts = syntax.exec(text);
  if (!parts) return undefined;
  const numbers = parts.slice(1, 4).map(BigInt);
  return numbers.every((number) => number <= numberMax) ? new Semver(numbers, parts[4]?.split('.') ?? []) : undefined;
}

/** Without a prefix `v` and leading zeros. Absent minor and patch numbers are 0. A short version can't have a prerelease or metadata. */
function normal(text: string): string {
  const [major = '', minor, ...rest] = text.replace(/^v/, '').split('.');
  const patch = rest.length > 0 ? rest.join('.') : undefined;
  const parts = [major, minor, patch].filter((part) => part !== undefined).map(withoutZeros);
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) return text;
  while (parts.length < 3) parts.push('0');
  return parts.join('.');
}

function withoutZeros(part: string): string {
  if (part.length < 2) return part;
  const rest = part.replace(/^0+/, '');
  return /^\d/.test(rest) ? rest : `0${rest}`;
}

function comparedPrereleases(a: readonly string[], b: readonly string[]): bigint {
  // A version without a prerelease is newer than its prereleases.
  if (a.length === 0 || b.length === 0) return compared(b.length, a.length) === 0n ? 0n : a.length === 0 ? 1n : -1n;
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1n;
    const order = comparedParts(part, other);
    if (order !== 0n) return order;
  }
  return a.length < b.length ? -1n : 0n;
}

/** Numbers come before texts. */
function comparedParts(a: string, b: string): bigint {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && isOtherNumber) return compared(BigInt(a), BigInt(b));
  if (isNumber !== isOtherNumber) return isNumber ? -1n : 1n;
  return compared(a, b);
}

function compared<T extends bigint | number | string>(a: T, b: T): bigint {
  return a < b ? -1n : a > b ? 1n : 0n;
}
