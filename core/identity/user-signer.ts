/**
 * Signs the requests of users with the key of the users' authority. The library for this is loaded with the first request.
 */
import { X509Certificate } from 'node:crypto';
import type { Clock } from '../runtime/clock.ts';
import { BanyanError, describeError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import { leafMs } from './certificate-validity.ts';

export interface UserSigner {
  /**
   * Returns the certificate, in PEM. Throws Invalid if the request may have none, and Unavailable if the authority has expired. `lifeMs`: absent: 30 days.
   * `afterMsOf`: the certificate begins after this time, for example because the earlier ones of the user were revoked then.
   */
  sign(asked: {
    readonly pem: string;
    readonly encipherment: boolean;
    readonly lifeMs?: number | undefined;
    afterMsOf(user: string): number | undefined;
  }): Promise<string>;
}

/** The scheme of the identities of nodes (peer-identity.ts), however it is written. The authority of users may be the one of nodes too. */
const nodeScheme = /^\s*spiffe:/i;

/** As `banyan user add`: long enough to work, and short enough that a forgotten certificate ends. */
const lifeMsDefault = 30 * 86_400_000;

/** `authority` returns the contents of the files at the time of the call, since the files may be renewed. */
export function userSigner(
  authority: () => { readonly certPem: string; readonly keyPem: string },
  issuing: { readonly clock: Clock; readonly random: Random },
): UserSigner {
  return {
    async sign({ pem, encipherment, lifeMs = lifeMsDefault, afterMsOf }) {
      const { readUserRequest } = await import('./user-request.ts');
      const { name, groups, alternativeNames, publicKey, keyProblem, isSigned } = readUserRequest(pem);
      if (name === '') throw invalid('its subject has no common name, or several: the common name is the user');
      const ofNode = alternativeNames.find(({ type, value }) => type === 'url' && nodeScheme.test(value));
      if (ofNode)
        throw invalid(`it asks for the name ${ofNode.value}, which is of a node: a user's certificate is for no node`);
      if (keyProblem !== undefined) throw invalid(keyProblem);
      if (!(await isSigned())) throw invalid('it is not signed with its own key');
      const afterMs = afterMsOf(name);
      const user = {
        name,
        groups,
        alternativeNames,
        publicKey,
        encipherment,
        ...(afterMs === undefined ? {} : { afterMs }),
      };
      return usable(async () => {
        const files = authority();
        const { validTo } = new X509Certificate(files.certPem);
        if (Date.parse(validTo) <= issuing.clock.wallMs()) throw new Error(`it expired on ${validTo}: make a new one`);
        const { issueRequested } = await import('./authority.ts');
        return issueRequested(files, user, issuing, Math.min(lifeMs, leafMs));
      });
    },
  };
}

function invalid(why: string): BanyanError {
  return new BanyanError('Invalid', `the request for a certificate is refused: ${why}`);
}

/** The files may be absent or half-written for a moment: then the request is tried again. */
async function usable<T>(sign: () => Promise<T>): Promise<T> {
  try {
    return await sign();
  } catch (cause) {
    const message = `the authority of users can't sign: ${describeError(cause)}`;
    throw new BanyanError('Unavailable', message, {}, { cause });
  }
}
