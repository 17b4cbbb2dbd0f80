/** The user of a client certificate, as Kubernetes reads it: CN is the name, and each O is a group. */
import type { Requester } from './attributes.ts';
import { authenticatedGroup } from './subjects.ts';

/** Undefined: the certificate names no user. https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates */
export function userOfCertificate(
  certificate: { subject: Record<string, unknown> } | undefined,
): Requester | undefined {
  const name = certificate?.subject?.CN;
  if (typeof name !== 'string' || name === '') return undefined;
  const groups = [certificate?.subject?.O ?? []].flat().filter((group) => typeof group === 'string');
  return { name, groups: [...groups, authenticatedGroup] };
}
