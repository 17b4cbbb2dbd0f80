/**
 * Claims: the labels and properties that a child may claim for the destinations below it. The parent writes them. Everything that a child claims beyond them
 * has no effect at the parent.
 */
import * as z from 'zod';
import { labelKeyFlaw, labelValueFlaw, subdomainFlaw } from '../object/plain-names.ts';

/** Keyed by label key. `PREFIX/*` stands for all keys with this prefix, `*` for all keys that no other line names. The values: `*` stands for any value. */
export type ClaimedKeys = Readonly<Record<string, readonly string[]>>;

export interface SubtreeClaims {
  /** Labels of Locations and of SyncTargets. */
  readonly labels: ClaimedKeys;
  /** `spec.properties` of SyncTargets. */
  readonly properties: ClaimedKeys;
}

/** Every subtree may claim labels and properties with this prefix. No other prefix is free. */
export const siteKeys = 'site.banyan.io/*';
/** Labels of paths. They come from the certificate of the child, so no claim can give them. */
export const treePrefix = 'tree.banyan.io/';

/** Limits for the claims of one child in an object: about 100 kB. A file has no limit, because its writer starts the node. */
export const claimedKeysMax = 64;
export const claimedValuesMax = 64;
/** A label has at most 63 characters. A property has no limit of its own, and the claims of a child must not be large. */
const propertyValueMax = 256;

/** Everything. The claims of a child for which nobody has written claims. */
export const openClaims: SubtreeClaims = { labels: { '*': ['*'] }, properties: { '*': ['*'] } };

/** Returns what is wrong with the claims: the place in them, and the mistake. */
export function claimsFlaw(
  claims: Partial<SubtreeClaims>,
): { readonly path: readonly string[]; readonly message: string } | undefined {
  for (const section of ['labels', 'properties'] as const) {
    for (const [key, values] of Object.entries(claims[section] ?? {})) {
      const message = keyFlaw(section, key) ?? valuesFlaw(section, values);
      if (message !== undefined) return { path: [section, key], message };
    }
  }
  return undefined;
}

function keyFlaw(section: keyof SubtreeClaims, key: string): string | undefined {
  if (key === '*') return undefined;
  if (key.startsWith(treePrefix))
    return `"${key}": labels with the prefix ${treePrefix} come from the certificate of the node: leave the key out`;
  const flaw = key.endsWith('/*')
    ? subdomainFlaw(key.slice(0, -'/*'.length))
    : section === 'labels'
      ? labelKeyFlaw(key)
      : labelKeyFlaw(key) && subdomainFlaw(key.toLowerCase());
  return flaw === undefined
    ? undefined
    : `"${key}": ${flaw}; PREFIX/* stands for all keys of a prefix, * for all other keys`;
}

function valuesFlaw(section: keyof SubtreeClaims, values: readonly string[]): string | undefined {
  for (const value of values) {
    if (value === '*') continue;
    const flaw =
      section === 'labels'
        ? labelValueFlaw(value)
        : value.length > propertyValueMax
          ? `has ${value.length} characters; at most ${propertyValueMax}`
          : undefined;
    if (flaw !== undefined) return `"${value}": ${flaw}; write "*" for any value`;
  }
  return undefined;
}

const claimedKeys = z.record(z.string(), z.array(z.string())).default({});

/** Claims in a file. */
export const claimsSchema = z
  .strictObject({
    labels: claimedKeys.describe(
      'Keys and values of labels. PREFIX/* stands for all keys of a prefix, * for all other keys or for any value.',
    ),
    properties: claimedKeys.describe('Keys and values of properties of SyncTargets, in the same form.'),
  })
  .superRefine((claims, context) => {
    const flaw = claimsFlaw(claims);
    if (flaw) context.addIssue({ code: 'custom', path: [...flaw.path], message: flaw.message });
  })
  .describe(
    'What the subtree of this node may claim: the parent ignores all other labels and properties of Locations below the node. Keys of the prefix site.banyan.io/ are always allowed.',
  );

/** The values that a key may have. `any`, or a list; an empty list: the key is not allowed. */
export type AllowedValues = 'any' | ReadonlySet<string>;

const none: ReadonlySet<string> = new Set();

/** Returns the values that a list names for a key, without prefixes. */
export function listedValues(given: ClaimedKeys, key: string): AllowedValues {
  const values = Object.hasOwn(given, key) ? given[key]! : [];
  return values.includes('*') ? 'any' : new Set(values);
}

/** Returns the values that the claims allow for a key. The longest line decides: the key itself, then its prefix, then `*`. */
export function allowedValues(claimed: ClaimedKeys, key: string): AllowedValues {
  const prefix = key.includes('/') ? `${key.slice(0, key.indexOf('/'))}/*` : undefined;
  const line = [key, ...(prefix === undefined ? [] : [prefix]), ...(prefix === siteKeys ? [] : ['*'])].find((one) =>
    Object.hasOwn(claimed, one),
  );
  if (line === undefined) return prefix === siteKeys ? 'any' : none;
  return claimed[line]!.includes('*') ? 'any' : new Set(claimed[line]);
}
