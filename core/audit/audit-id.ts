/** The id that all events of one request share, at every node that the request passes. */

export const auditIdHeader = 'audit-id';

/** As long as a name of Kubernetes, and without characters that could end a line or a field of a log. */
const validId = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;

/** The id that the client or the node before has chosen, if the id is valid. `fresh` makes another one. */
export function auditIdOf(received: string | string[] | undefined, fresh: () => string): string {
  return typeof received === 'string' && validId.test(received) ? received : fresh();
}
