/** The bearer token of a request. */

/** A token has about a kilobyte. The limit keeps the work for a stranger's request small. */
const tokenBytesMax = 16 * 1024;

/** Undefined: the request has no token, or one that no issuer would make. https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [, token = ''] = /^bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization ?? '') ?? [];
  return token === '' || token.length > tokenBytesMax ? undefined : token;
}
