/** The syntax of names, with the checks of Kubernetes (RFC 1123 and the qualified names of labels). */

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

export const labelMessage =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
export const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/** Maximal length of a path. A Node object is named after its path, so the bound is the maximal length of a name in Kubernetes. */
export const pathMax = 253;

/** Each of these checks returns the mistake, or undefined if there is none. */
export function checkDnsLabel(name: string): string | undefined {
  if (name.length > 63) return 'must be no more than 63 characters';
  return dnsLabel.test(name) ? undefined : labelMessage;
}

export function checkDnsSubdomain(name: string): string | undefined {
  if (name.length > 253) return 'must be no more than 253 characters';
  return dnsSubdomain.test(name) ? undefined : subdomainMessage;
}

export function checkLabelKey(key: string): string | undefined {
  const parts = key.split('/');
  const name = parts.at(-1)!;
  if (parts.length > 2) return 'a qualified name has at most one slash';
  if (parts.length === 2 && checkDnsSubdomain(parts[0]!)) return `prefix part ${checkDnsSubdomain(parts[0]!)}`;
  if (name === '') return 'name part must be non-empty';
  if (name.length > 63) return 'name part must be no more than 63 characters';
  if (!qualifiedName.test(name)) {
    return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  }
  return undefined;
}

export function checkLabelValue(value: string): string | undefined {
  if (value.length > 63) return 'must be no more than 63 characters';
  if (value === '' || qualifiedName.test(value)) return undefined;
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
}
