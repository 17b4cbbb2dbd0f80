/** mesh.banyan.io/AccessGrant: carries a ClusterRole of the system space to other places (core/access/access-grant.ts has its checks). */
import type { GroupResource } from '../../object/key.ts';
import { meshGroup } from './mesh-kinds.ts';
import { definition, list, object, string, strings } from './schema-builders.ts';

export const accessGrantResource = { group: meshGroup, resource: 'accessgrants' } as const;

const path = 'Path of a node or cluster at or below this node, such as eu:paris. center: the whole tree.';
const namespaces = (where: string) =>
  strings(`Namespaces ${where}. Left out: all of them, and what is in no namespace.`, { maxItems: 1024 });

export const accessGrantDefinition = definition({
  group: meshGroup,
  names: { plural: 'accessgrants', kind: 'AccessGrant', shortNames: ['ag'] },
  description:
    'Gives users the rights of a ClusterRole of this system space at another place: in a space, in mailboxes, in a subtree, or at edge clusters. Nobody can give rights that they do not have at the place.',
  spec: object(
    'Who may do what, and where.',
    {
      subjects: list(
        'Who gets the rights.',
        object(
          'A user, a group, or a ServiceAccount of this system space.',
          {
            kind: string('What the name means.', { enum: ['User', 'Group', 'ServiceAccount'] }),
            apiGroup: string(
              'The default is rbac.authorization.k8s.io for users and groups, and empty for a ServiceAccount.',
            ),
            name: string('Name of the user, group or ServiceAccount.'),
            namespace: string('Namespace of the ServiceAccount.'),
          },
          { required: ['kind', 'name'] },
        ),
        { maxItems: 1024 },
      ),
      roleRef: object(
        'The role with the rights.',
        {
          apiGroup: string('Always rbac.authorization.k8s.io, which is the default.'),
          kind: string('Always ClusterRole.', { enum: ['ClusterRole'] }),
          name: string('Name of a ClusterRole of this system space, such as view, edit or admin.'),
        },
        { required: ['kind', 'name'] },
      ),
      scope: object('Where the rights hold: exactly one of the fields.', {
        space: object(
          'A space of this node, or what a space of a node above sends here; with its copies at the clusters (/fleet).',
          {
            name: string(
              'Name of the space. A space of a node above has the name of the node before it, such as center.retail.',
            ),
            namespaces: namespaces('of the space'),
          },
          { required: ['name'] },
        ),
        mailboxes: object('What this node sends to children.', {
          children: strings('Names of children of this node.', { maxItems: 1024 }),
        }),
        subtree: object('A node and everything at and below the node.', { path: string(path) }, { required: ['path'] }),
        clusters: object(
          'The edge clusters at and below a path.',
          { path: string(path), namespaces: namespaces('of the clusters') },
          { required: ['path'] },
        ),
      }),
    },
    { required: ['subjects', 'roleRef', 'scope'] },
  ),
  root: { required: ['spec'] },
  columns: [
    { name: 'Role', type: 'string', jsonPath: '.spec.roleRef.name' },
    { name: 'Space', type: 'string', jsonPath: '.spec.scope.space.name' },
    { name: 'Subtree', type: 'string', jsonPath: '.spec.scope.subtree.path' },
    { name: 'Clusters', type: 'string', jsonPath: '.spec.scope.clusters.path' },
    { name: 'Subjects', type: 'string', jsonPath: '.spec.subjects[*].name', priority: 1 },
  ],
});

export function isAccessGrant({ group, resource }: GroupResource): boolean {
  return group === meshGroup && resource === accessGrantResource.resource;
}
