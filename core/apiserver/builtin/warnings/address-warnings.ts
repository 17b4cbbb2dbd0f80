/** Addresses and ranges of addresses that older fields take, although they are not in their canonical form. */
import { addressBytes, formatAddress, masked, parseRange } from '../validation/addresses.ts';
import { textsOf, wordOf } from '../validation/visit.ts';
import type { Warnings } from './warning.ts';

const bitsOfMapped = 96;

export function* addressWarning(value: unknown, path: string): Warnings {
  const text = wordOf(value);
  const bytes = addressBytes(text);
  if (!bytes) return;
  const canonical = formatAddress(bytes);
  if (text === canonical) return;
  yield bytes.length === 4
    ? `${path}: non-standard IP address "${text}" will be considered invalid in a future Kubernetes release: use "${canonical}"`
    : `${path}: IPv6 address "${text}" should be in RFC 5952 canonical format ("${canonical}")`;
}

export function* addressWarnings(list: unknown, path: string): Warnings {
  for (const [i, text] of textsOf(list).entries()) yield* addressWarning(text, `${path}[${i}]`);
}

export function* rangeWarning(value: unknown, path: string): Warnings {
  const text = wordOf(value);
  const range = parseRange(text);
  if (!range) return;
  const { address } = range;
  const isMapped = address.length === 4 && text.includes(':');
  const bits = isMapped ? Math.max(0, range.bits - bitsOfMapped) : range.bits;
  const first = masked(address, bits);
  const shown = formatAddress(address);
  const network = `${formatAddress(first)}/${bits}`;
  const isNetwork = Buffer.compare(first, address) === 0;
  if (!isNetwork) {
    const single = `${shown}/${isMapped ? 128 : address.length * 8}`;
    yield `${path}: CIDR value "${text}" is ambiguous in this context (should be "${network}" or "${single}"?)`;
  }
  const canonical = `${shown}/${range.bits}`;
  if (text === canonical) return;
  if (address.length === 4 || text.split('/')[1] !== String(range.bits)) {
    yield `${path}: non-standard CIDR value "${text}" will be considered invalid in a future Kubernetes release: use "${network}"`;
  } else if (isNetwork) {
    yield `${path}: IPv6 CIDR value "${text}" should be in RFC 5952 canonical format ("${canonical}")`;
  }
}

export function* rangeWarnings(list: unknown, path: string): Warnings {
  for (const [i, text] of textsOf(list).entries()) yield* rangeWarning(text, `${path}[${i}]`);
}
