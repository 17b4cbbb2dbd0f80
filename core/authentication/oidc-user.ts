/** The user whom the claims of a token name, by the rules of the configuration. */
import type { Requester } from '../access/attributes.ts';
import { authenticatedGroup } from '../access/subjects.ts';
import type { CelProgram } from '../match/cel/cel.ts';
import { CelError } from '../match/cel/cel-error.ts';
import { type CelValue, celValue } from '../match/cel/values.ts';
import type { OidcAuthenticator } from './oidc-config.ts';

export type Claims = Readonly<Record<string, unknown>>;
export type OidcUser = { readonly user: Requester } | { readonly refused: string };

type Mapping = OidcAuthenticator['claimMappings']['username'];

/** Throws nothing: a token whose claims do not fit the rules is refused. */
export function oidcUser(
  { claimMappings, claimValidationRules, userValidationRules }: OidcAuthenticator,
  claims: Claims,
): OidcUser {
  try {
    for (const { claim, requiredValue, expression, message } of claimValidationRules) {
      if (claim !== undefined && claims[claim] !== requiredValue)
        return refused(`the claim ${claim} must be ${JSON.stringify(requiredValue)}`);
      if (expression && !holds(expression, { claims: celValue(claims) })) return refused(message ?? expression.source);
    }
    const user = mapped(claimMappings, claims);
    for (const { expression, message } of userValidationRules) {
      const { name: username, uid = '', groups, extra = {} } = user;
      if (!holds(expression, { user: celValue({ username, uid, groups, extra }) }))
        return refused(message ?? expression.source);
    }
    return { user: { ...user, groups: [...user.groups, authenticatedGroup] } };
  } catch (error) {
    if (error instanceof CelError || error instanceof UnfitClaim) return refused(error.message);
    throw error;
  }
}

class UnfitClaim extends Error {}

function mapped({ username, groups, uid, extra }: OidcAuthenticator['claimMappings'], claims: Claims): Requester {
  const name = textOf(username, claims, 'username');
  if (name === '') throw new UnfitClaim('the token names no user');
  // As in Kubernetes: somebody could give any address to an account whose address nobody has checked.
  if (username.claim === 'email' && (claims.email_verified ?? true) !== true)
    throw new UnfitClaim('the address of the user is not verified');
  checkReserved('name', name);
  const named = groups ? listOf(claimValue(groups, claims)) : [];
  const prefix = groups?.prefix ?? '';
  const extras = extra.map(({ key, valueExpression }) => [key, listOf(evaluated(valueExpression, claims))] as const);
  const id = uid ? textOf(uid, claims, 'uid') : '';
  return {
    name,
    groups: named.map((group) => groupName(`${prefix}${group}`)),
    ...(id === '' ? {} : { uid: id }),
    ...(extras.some(([, values]) => values.length > 0)
      ? { extra: Object.fromEntries(extras.filter(([, values]) => values.length > 0)) }
      : {}),
  };
}

function groupName(group: string): string {
  checkReserved('group', group);
  return group;
}

/**
 * Groups of Kubernetes and of the mesh give rights by themselves, and users of the center are called `center:alice` at other nodes. An operator who wants an
 * issuer to name administrators gives a role to a group with another name.
 */
const reserved = /^(system|banyan|center):/;

function checkReserved(what: string, value: string): void {
  if (reserved.test(value))
    throw new UnfitClaim(
      `the ${what} ${JSON.stringify(value)} belongs to Kubernetes or to the mesh itself: write another prefix`,
    );
}

function textOf(
  mapping: Mapping | { claim?: string | undefined; expression?: CelProgram | undefined },
  claims: Claims,
  what: string,
): string {
  const value = claimValue(mapping, claims);
  if (typeof value !== 'string') throw new UnfitClaim(`the ${what} is no text`);
  return `${'prefix' in mapping ? (mapping.prefix ?? '') : ''}${value}`;
}

function claimValue(
  { claim, expression }: { claim?: string | undefined; expression?: CelProgram | undefined },
  claims: Claims,
): unknown {
  return expression ? evaluated(expression, claims) : Object.hasOwn(claims, claim!) ? claims[claim!] : undefined;
}

function evaluated(program: CelProgram, claims: Claims): CelValue {
  return program.evaluate({ claims: celValue(claims) });
}

function holds(program: CelProgram, bindings: Readonly<Record<string, CelValue>>): boolean {
  return program.evaluate(bindings) === true;
}

/** Kubernetes takes one text, a list of texts, or nothing. */
function listOf(value: unknown): string[] {
  if (value === undefined || value === null || value === '') return [];
  const all = Array.isArray(value) ? value : [value];
  if (!all.every((one): one is string => typeof one === 'string'))
    throw new UnfitClaim('a list of texts has other values');
  return all;
}

function refused(why: string): OidcUser {
  return { refused: why };
}
