/**
 * Who may do what, URL by URL: what test/e2e/authorization.test.ts expects at a running tree, and what docs/reference/authorization.md shows.
 */

/** Callers with rights of their own. The test has the tree in which they have them. */
export const callers = {
  reader: 'has `view` in the space retail of the center',
  editor: 'has `edit` in the namespace shop of the space retail',
  other: 'has `admin` in the space ops of the center',
  regional: 'has `cluster-admin` in the subtree of the relay eu, by a grant of eu',
  site: 'has `edit` in the namespace shop of the cluster eu:rivoli, by a role binding there',
  robot:
    'is a ServiceAccount of the center with `view` in the space retail, and shows a token; other nodes do not know the token',
  acting: 'acts as the reader, with the verb `impersonate` on this user at the center',
  admin: 'is a member of `system:masters`',
} as const;
export type CallerName = keyof typeof callers;

/** Callers whom no node knows as a user. */
export const strangers = {
  anonymous: 'shows no certificate',
  expired: 'shows a certificate that has expired',
  revoked: 'shows a certificate that was revoked',
  agent: 'shows the certificate of the agent eu:rivoli',
  relay: 'shows the certificate of the relay eu',
  former: "shows a user's certificate, with the group `system:masters`, of the authority of the nodes",
  headers:
    'shows no certificate, and names a member of `system:masters` in the headers of a front proxy and in X-Forwarded-*',
} as const;
export type StrangerName = keyof typeof strangers;

export interface AuthorizationRow {
  /** The node that is asked: `center`, or a path. */
  readonly at: 'center' | 'eu' | 'eu:rivoli';
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  /** The callers who may. `everybody`: strangers too. `users`: all callers who are no strangers. */
  readonly allowed: readonly CallerName[] | 'everybody' | 'users';
}

const row = (line: string): AuthorizationRow => {
  const [at, method, url, ...allowed] = line.trim().split(/\s+/) as [
    AuthorizationRow['at'],
    AuthorizationRow['method'],
    string,
    ...string[],
  ];
  const [first] = allowed;
  return { at, method, url, allowed: first === 'everybody' || first === 'users' ? first : (allowed as CallerName[]) };
};

/** `?dryRun=All`: the row changes nothing. `DELETE` and `PATCH` are about objects that do not exist. */
const lines = `
  center GET    /healthz                                                             everybody
  center GET    /livez                                                               everybody
  center GET    /readyz                                                              everybody
  center GET    /version                                                             users
  center GET    /api                                                                 users
  center GET    /apis                                                                users
  center GET    /openapi/v3                                                          users
  center GET    /metrics                                                             admin
  center POST   /apis/authentication.k8s.io/v1/selfsubjectreviews                    users
  center POST   /apis/authorization.k8s.io/v1/selfsubjectaccessreviews               users
  center POST   /apis/authorization.k8s.io/v1/subjectaccessreviews                   admin
  center GET    /api/v1/namespaces                                                   admin
  center GET    /api/v1/namespaces/kube-system/secrets                               admin
  center POST   /api/v1/namespaces/default/configmaps?dryRun=All                     admin
  center GET    /apis/rbac.authorization.k8s.io/v1/clusterroles                      admin
  center POST   /apis/rbac.authorization.k8s.io/v1/clusterrolebindings?dryRun=All    admin
  center GET    /apis/mesh.banyan.io/v1alpha1/nodes                                  admin
  center PATCH  /apis/mesh.banyan.io/v1alpha1/nodes/none                             admin
  center GET    /apis/mesh.banyan.io/v1alpha1/accessgrants                           admin
  center POST   /apis/mesh.banyan.io/v1alpha1/accessgrants?dryRun=All                admin
  center POST   /apis/mesh.banyan.io/v1alpha1/revocations?dryRun=All                 admin
  center POST   /apis/mesh.banyan.io/v1alpha1/jointokens?dryRun=All                  admin
  center GET    /apis/certificates.k8s.io/v1/certificatesigningrequests              admin
  center POST   /apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All   admin
  center PATCH  /apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval  admin
  center PATCH  /apis/certificates.k8s.io/v1/certificatesigningrequests/none/status  admin
  center GET    /apis/inventory.banyan.io/v1alpha1/synctargets                       admin
  center DELETE /apis/inventory.banyan.io/v1alpha1/synctargets/none                  admin
  center GET    /spaces/retail/api                                                   reader robot editor acting admin
  center GET    /spaces/retail/version                                               reader robot editor acting admin
  center GET    /spaces/retail/api/v1/namespaces                                     reader robot acting admin
  center GET    /spaces/retail/api/v1/namespaces/shop                                reader robot editor acting admin
  center POST   /spaces/retail/api/v1/namespaces?dryRun=All                          admin
  center GET    /spaces/retail/api/v1/configmaps                                     reader robot acting admin
  center GET    /spaces/retail/api/v1/namespaces/shop/configmaps                     reader robot editor acting admin
  center GET    /spaces/retail/api/v1/namespaces/shop/configmaps?watch=true&timeoutSeconds=1  reader robot editor acting admin
  center GET    /spaces/retail/api/v1/namespaces/shop/secrets                        editor admin
  center POST   /spaces/retail/api/v1/namespaces/shop/configmaps?dryRun=All          editor admin
  center PATCH  /spaces/retail/api/v1/namespaces/shop/configmaps/none                editor admin
  center DELETE /spaces/retail/api/v1/namespaces/shop/configmaps/none                editor admin
  center DELETE /spaces/retail/api/v1/namespaces/shop/configmaps?dryRun=All          editor admin
  center POST   /spaces/retail/api/v1/namespaces/desk/configmaps?dryRun=All          admin
  center POST   /spaces/retail/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles?dryRun=All  admin
  center GET    /spaces/retail/api/v1/namespaces/shop/pods/none/log                  reader robot editor acting admin
  center POST   /spaces/retail/api/v1/namespaces/shop/pods/none/exec                 editor admin
  center PATCH  /spaces/retail/apis/apps/v1/namespaces/shop/deployments/none/status  admin
  center GET    /spaces/retail/apis/edge.banyan.io/v1alpha1/edgeplacements           reader robot acting admin
  center POST   /spaces/retail/apis/edge.banyan.io/v1alpha1/edgeplacements?dryRun=All  admin
  center PATCH  /spaces/retail/apis/edge.banyan.io/v1alpha1/edgeplacements/none/status  admin
  center POST   /spaces/retail/plan                                                  admin
  center GET    /spaces/retail/history/none                                          reader robot acting admin
  center GET    /spaces/retail/undo/none                                             reader robot acting admin
  center POST   /spaces/retail/apis/authorization.k8s.io/v1/selfsubjectaccessreviews  users
  center GET    /spaces/none/api/v1/configmaps                                       admin
  center GET    /fleet/retail/api/v1/namespaces/shop/configmaps                      reader robot editor acting admin
  center GET    /fleet/retail/api/v1/configmaps                                      reader robot acting admin
  center GET    /fleet/ops/api/v1/configmaps                                         other admin
  center GET    /mailboxes/eu/api/v1/configmaps                                      admin
  center GET    /tree/eu/healthz                                                     admin
  center GET    /tree/eu/echo?bytes=9                                                admin
  center GET    /tree/eu/api/v1/namespaces                                           admin
  center POST   /tree/eu/api/v1/namespaces?dryRun=All
  center GET    /tree/eu:rivoli/cluster/api/v1/namespaces/shop/configmaps            admin
  center POST   /tree/eu:rivoli/cluster/api/v1/namespaces/shop/pods/none/exec
  eu     GET    /healthz                                                             everybody
  eu     GET    /version                                                             users
  eu     GET    /metrics                                                             regional admin
  eu     GET    /api/v1/namespaces                                                   regional admin
  eu     POST   /api/v1/namespaces?dryRun=All                                        regional admin
  eu     POST   /apis/mesh.banyan.io/v1alpha1/accessgrants?dryRun=All                regional admin
  eu     GET    /spaces/local/api/v1/configmaps                                      regional admin
  eu     GET    /spaces/center.retail/api/v1/configmaps                              regional admin
  eu     GET    /mailboxes/rivoli/api/v1/configmaps                                  regional admin
  eu     GET    /reported/eu:rivoli/api/v1/configmaps                                regional admin
  eu     GET    /fleet/local/api/v1/configmaps                                       regional admin
  eu     GET    /tree/eu:rivoli/healthz                                              regional admin
  eu:rivoli GET    /healthz                                                          everybody
  eu:rivoli GET    /version                                                          users
  eu:rivoli GET    /metrics                                                          admin
  eu:rivoli GET    /api/v1/namespaces                                                admin
  eu:rivoli GET    /api/v1/namespaces/shop/configmaps                                site admin
  eu:rivoli POST   /api/v1/namespaces/shop/configmaps?dryRun=All                     site admin
  eu:rivoli GET    /api/v1/namespaces/kube-system/secrets                            admin
  eu:rivoli POST   /apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All        admin
  eu:rivoli DELETE /api/v1/namespaces/shop/configmaps/none                           site admin
  eu:rivoli POST   /apis/authorization.k8s.io/v1/selfsubjectaccessreviews            users
`;

export const authorizationRows: readonly AuthorizationRow[] = lines.trim().split('\n').map(row);

/** `yes`: the node serves the request, or answers that an object is missing. `no`: 403. `401`: the node does not know who is asking. */
export function expectedCell(
  { at, allowed }: AuthorizationRow,
  caller: CallerName | StrangerName,
): 'yes' | 'no' | '401' {
  if (allowed === 'everybody') return 'yes';
  if (caller in strangers || (caller === 'robot' && at !== 'center')) return '401';
  return allowed === 'users' || allowed.includes(caller as CallerName) ? 'yes' : 'no';
}
