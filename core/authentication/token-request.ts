/** The request for a token of a ServiceAccount (authentication.k8s.io/v1 TokenRequest), with the checks and limits of kube-apiserver. */
import { invalidField } from '../object/field-error.ts';
import { BanyanError, type Cause } from '../runtime/errors.ts';
import { isRecord } from '../runtime/is-record.ts';
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

/** `audience`: the audience of a token whose request names none. Throws BadRequest. */
export function readTokenRequest(
  body: unknown,
  audience: string,
): { readonly spec: TokenRequestSpec; readonly causes: readonly Cause[] } {
  if (!isRecord(body))
    throw new BanyanError('BadRequest', 'the body of the request must be one object of kind TokenRequest');
  const { audiences, expirationSeconds = secondsDefault, boundObjectRef } = isRecord(body.spec) ? body.spec : {};
  const causes: Cause[] = [];
  const isText = (value: unknown): value is string => typeof value === 'string';
  if (audiences !== undefined && audiences !== null && !(Array.isArray(audiences) && audiences.every(isText)))
    causes.push(invalidField('spec.audiences', audiences, 'must be a list of texts'));
  const seconds = Number(expirationSeconds);
  if (!Number.isSafeInteger(seconds))
    causes.push(invalidField('spec.expirationSeconds', expirationSeconds, 'must be an integer'));
  else if (seconds < secondsMin)
    causes.push(invalidField('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes'));
  else if (seconds > secondsMax)
    causes.push(invalidField('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'));
  const asked = Array.isArray(audiences) ? audiences.filter(isText) : [];
  const bound = boundOf(boundObjectRef);
  return {
    causes,
    spec: {
      audiences: asked.length > 0 ? asked : [audience],
      expirationSeconds: Math.min(seconds, secondsCut),
      ...(bound ? { bound } : {}),
    },
  };
}

function boundOf(reference: unknown): TokenRequestSpec['bound'] {
  if (!isRecord(reference)) return undefined;
  const { kind, apiVersion = 'v1', name = '', uid = '' } = reference;
  const known = boundKinds.find((one) => one === kind);
  if (!known || apiVersion !== 'v1') {
    const names = boundKinds.map((one) => `v1 ${one}`).join(' or ');
    throw new BanyanError(
      'BadRequest',
      `cannot bind token for object of type ${String(apiVersion)}, Kind=${String(kind)}: bind the token to a ${names}`,
    );
  }
  return { kind: known, name: String(name), uid: String(uid) };
}
