/** The user of a request at the API: the subject of a client certificate of the tree, read as Kubernetes reads it. CN is the name, and each O is a group. */
import type { UserInfo } from '../../core/apiserver/space.ts';

/** Members of this group may do everything. Nobody else is admitted until rights can be given (docs/decisions/0003-users.md). */
const administrators = 'system:masters';

export function userOfCertificate(certificate: { subject: Record<string, unknown> } | undefined): UserInfo | undefined {
  const name = certificate?.subject?.CN;
  if (typeof name !== 'string') return undefined;
  const groups = [certificate?.subject?.O ?? []].flat().filter((group) => typeof group === 'string');
  return groups.includes(administrators) ? { name, groups: [...groups, 'system:authenticated'] } : undefined;
}
