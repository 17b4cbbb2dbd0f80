/**
 * Users whom a front proxy names in headers (`--requestheader-*` of kube-apiserver): the proxy has authenticated the user, and shows a certificate of its own.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#authenticating-proxy
 */
import * as z from 'zod';
import type { Requester } from '../access/attributes.ts';
import { authenticatedGroup } from '../access/subjects.ts';

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, { error: 'must be the name of a header: letters, digits and -' });

export const frontProxySchema = z.strictObject({
  clientCA: z
    .string()
    .min(1)
    .describe(
      "File with the authorities of the proxies' certificates. An authority of users or nodes may be in it only if allowedNames names the proxies.",
    ),
  allowedNames: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Common names of the proxies' certificates. Default: every certificate of these authorities is of a proxy.",
    ),
  usernameHeaders: z
    .array(headerName)
    .min(1)
    .default(['X-Remote-User'])
    .describe('The first of these headers with a value has the name of the user.'),
  groupHeaders: z
    .array(headerName)
    .default(['X-Remote-Group'])
    .describe('Every value of these headers is a group of the user.'),
  extraHeaderPrefixes: z
    .array(headerName)
    .default(['X-Remote-Extra-'])
    .describe('The rest of the name of such a header is the key of an extra field of the user, percent-encoded.'),
  uidHeaders: z
    .array(headerName)
    .default(['X-Remote-Uid'])
    .describe('The first of these headers with a value has the uid of the user.'),
});

export type FrontProxyConfig = z.infer<typeof frontProxySchema>;

/** Whether a certificate with this common name, of an authority of the proxies, is of a proxy. */
export function isAllowedProxy({ allowedNames }: FrontProxyConfig, commonName: unknown): boolean {
  return allowedNames.length === 0 || (typeof commonName === 'string' && allowedNames.includes(commonName));
}

/**
 * The user whom the headers of the proxy's request name. Undefined: they name none, and the request may have a token. `rawHeaders`: names and values in turns, as
 * they came. Joined values would not do: a comma in the name of one group would make two groups.
 */
export function proxiedUser(
  config: Omit<FrontProxyConfig, 'clientCA' | 'allowedNames'>,
  rawHeaders: readonly string[],
): Requester | undefined {
  const sent: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    // Node reads the bytes of a header as latin1. Proxies send names in UTF-8.
    const value = Buffer.from(rawHeaders[i + 1]!, 'latin1').toString('utf8');
    if (value !== '') sent.push([rawHeaders[i]!.toLowerCase(), value]);
  }
  const valuesOf = (names: readonly string[]) =>
    names.flatMap((name) => sent.filter(([header]) => header === name.toLowerCase()).map(([, value]) => value));
  const [name] = valuesOf(config.usernameHeaders);
  if (name === undefined) return undefined;
  const [uid] = valuesOf(config.uidHeaders);
  const extra = extraOf(config.extraHeaderPrefixes, sent);
  return {
    name,
    groups: [...new Set([...valuesOf(config.groupHeaders), authenticatedGroup])],
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function extraOf(prefixes: readonly string[], sent: readonly [string, string][]): Record<string, string[]> {
  const found = new Map<string, string[]>();
  for (const prefix of prefixes.map((one) => one.toLowerCase())) {
    for (const [header, value] of sent) {
      if (!header.startsWith(prefix)) continue;
      const key = unescaped(header.slice(prefix.length));
      found.set(key, [...(found.get(key) ?? []), value]);
    }
  }
  return Object.fromEntries(found);
}

/** Text that is not properly encoded stays as it is, as in Kubernetes. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
