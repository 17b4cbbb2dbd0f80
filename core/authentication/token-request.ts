/** The request for a token of a ServiceAccount (authentication.k8s.io/v1 TokenRequest), with the checks and limits of kube-apiserver. */
import { invalidField } from '../object/field-error.ts';
import { BanyanError, type Cause } from '../runtime/errors.ts';
import { type BoundKind, boundKinds } from './account-token.ts';

export interface TokenRequestSpec {
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** `uid`: empty if the request does not name one. */
  readonly bound?: { readonly kind: BoundKind; readonly name: string; readonly uid: string };
}

const secondsDefault = 3_600;
const secondsMin = 600;
const secondsMax = 2 ** 32;
/** A longer time is cut, and the answer shows the cut time. The default of kube-apiserver has no limit; a token for years is a password. */
const secondsCut = 366 * 86_400;

/** The fields of a TokenRequest's spec, as a client sends them. */
export interface GivenTokenSpec {
  readonly audiences?: readonly string[] | null;
  readonly expirationSeconds?: number | bigint | null;
  readonly boundObjectRef?: {
    readonly kind?: string;
    readonly apiVersion?: string;
    readonly name?: string;
    readonly uid?: string;
  } | null;
}

/** `audience`: the audience of a token whose request names none. Throws BadRequest. */
export function readTokenRequest(
  { audiences, expirationSeconds, boundObjectRef }: GivenTokenSpec,
  audience: string,
): { readonly spec: TokenRequestSpec; readonly causes: readonly Cause[] } {
  const causes: Cause[] = [];
  const field = 'spec.expirationSeconds';
  const seconds = Number(expirationSeconds ?? secondsDefault);
  if (seconds < secondsMin)
    causes.push(invalidField(field, seconds, 'may not specify a duration less than 10 minutes'));
  else if (seconds > secondsMax)
    causes.push(invalidField(field, seconds, 'may not specify a duration larger than 2^32 seconds'));
  const bound = boundOf(boundObjectRef);
  return {
    causes,
    spec: {
      audiences: audiences && audiences.length > 0 ? audiences : [audience],
      expirationSeconds: Math.min(seconds, secondsCut),
      ...(bound ? { bound } : {}),
    },
  };
}

function boundOf(reference: GivenTokenSpec['boundObjectRef']): TokenRequestSpec['bound'] {
  if (!reference) return undefined;
  const { kind, apiVersion = 'v1', name = '', uid = '' } = reference;
  const known = boundKinds.find((one) => one === kind);
  if (known && apiVersion === 'v1') return { kind: known, name, uid };
  const names = boundKinds.map((one) => `v1 ${one}`).join(' or ');
  throw new BanyanError(
    'BadRequest',
    `cannot bind token for object of type ${apiVersion}, Kind=${kind}: bind the token to a ${names}`,
  );
}
