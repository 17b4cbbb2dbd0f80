/** The mistakes in names that people write in files and commands, each with a remedy. `names.ts` has the words of Kubernetes for its API. */
import { isIP } from 'node:net';
import { checkDnsLabel, checkDnsSubdomain, checkLabelKey, checkLabelValue } from './names.ts';

const ends = 'begin and end with a letter or a digit';
const nameRemedy = `use a-z, 0-9 and '-', such as eu-west; ${ends}`;
const subdomainRemedy = `use a-z, 0-9, '-' and '.', such as eu-west.example; ${ends}`;
const labelRemedy = `use letters, digits, '-', '_' and '.'; ${ends}`;

/** Each function returns the mistake, or undefined. */
export function nameFlaw(name: string): string | undefined {
  return flaw(name, checkDnsLabel, 63, nameRemedy);
}

export function subdomainFlaw(name: string): string | undefined {
  return flaw(name, checkDnsSubdomain, 253, subdomainRemedy);
}

/** For a DNS name or an IP address, without brackets, port and zone. */
export function hostFlaw(text: string): string | undefined {
  return isIP(text) !== 0 && !text.includes('%') ? undefined : subdomainFlaw(text);
}

export function labelValueFlaw(value: string): string | undefined {
  return flaw(value, checkLabelValue, 63, labelRemedy);
}

export function labelKeyFlaw(key: string): string | undefined {
  if (checkLabelKey(key) === undefined) return undefined;
  const parts = key.split('/');
  if (parts.length > 2) return 'a key has at most one slash';
  const prefixFlaw = parts.length === 2 ? subdomainFlaw(parts[0]!) : undefined;
  if (prefixFlaw !== undefined) return `the part before the slash: ${prefixFlaw}`;
  return flaw(parts.at(-1)!, checkLabelKey, 63, labelRemedy);
}

function flaw(
  text: string,
  check: (text: string) => string | undefined,
  charactersMax: number,
  remedy: string,
): string | undefined {
  if (check(text) === undefined) return undefined;
  if (text === '') return `the name is empty; ${remedy}`;
  if (text.length > charactersMax) return `has ${text.length} characters; at most ${charactersMax}`;
  const lowerCase = text.toLowerCase();
  return check(lowerCase) === undefined ? `use lower case: "${lowerCase}"` : remedy;
}
