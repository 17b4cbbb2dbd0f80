/**
 * mesh.banyan.io: Space. A node writes a Space for each space of its configuration. The platform team writes what the space may deliver and how much it may
 * hold (`spec.delivery`, `spec.limits`).
 */
import { deliveryListMax, isNamespacePattern } from '../../match/delivery-bounds.ts';
import type { CustomResourceDefinition, SchemaProps } from '../crd/definition.ts';
import {
  conditions,
  definition,
  integer,
  labelSelector,
  list,
  object,
  rule,
  string,
  strings,
} from './schema-builders.ts';

const nameMax = 253;

function kinds(description: string): SchemaProps {
  return list(
    description,
    object(
      'Kinds of one API group.',
      {
        apiGroup: string('The API group. Empty: the core group. `*`: all groups.', { maxLength: nameMax }),
        resources: strings('Plural names, such as clusterroles. `*`: all.', { minItems: 1, maxItems: deliveryListMax }),
      },
      { required: ['apiGroup', 'resources'] },
    ),
    { maxItems: deliveryListMax },
  );
}

const delivery = object(
  'Bounds for everything that leaves the space. Absent: no bounds. An absent field bounds nothing; an empty list allows nothing. The node refuses writes that ask for more, and what is no longer allowed leaves the clusters.',
  {
    locationSelector: labelSelector('Placements may match only Locations that match this selector.'),
    namespaces: list(
      'Namespaces at the clusters into which objects may go, and from which they may be read back. `*` stands for any characters: shop-*.',
      string('A name, or a pattern.', { minLength: 1, maxLength: 63, pattern: isNamespacePattern.source }),
      { maxItems: deliveryListMax },
    ),
    clusterScoped: kinds(
      'Kinds of cluster-scoped objects that may go to clusters. Empty: none. Namespaces follow `namespaces`.',
    ),
    upsync: kinds(
      'Kinds that placements may read back (spec.upsync). Empty: none. Secrets only if `resources` names them.',
    ),
    priorityMax: integer('The highest spec.priority of a placement.'),
  },
);

const limits = object('How much the space may hold and how fast it may be asked. Absent: no limit.', {
  objects: integer('Objects that the space may store.', { minimum: 0 }),
  bytes: integer('Bytes of these objects.', { minimum: 0 }),
  requestsPerSecond: integer('Requests of all users together. A burst may have twice as many.', { minimum: 1 }),
  watches: integer('Watches of all users together that run at a time.', { minimum: 0 }),
});

export function spaceDefinitionOf(group: string): CustomResourceDefinition {
  return definition({
    group,
    names: { plural: 'spaces', kind: 'Space', shortNames: ['sp'] },
    description: 'A logical Kubernetes API endpoint of this node, with its own objects.',
    spec: object(
      'The purpose of the space, and the place of its objects.',
      {
        type: string('Decides which kinds the space has beside the built-in kinds.', {
          enum: ['Workload', 'Inventory', 'System'],
          default: 'Workload',
        }),
        provider: object('The place where the objects are stored. The default is Embedded.', {
          type: string('In this node, or in a Kubernetes API server.', {
            enum: ['Embedded', 'Kubernetes'],
            default: 'Embedded',
          }),
          kubeconfigSecretRef: object(
            'A Secret of the system space with a kubeconfig under the key kubeconfig.',
            { namespace: string('Namespace of the Secret.'), name: string('Name of the Secret.') },
            { required: ['namespace', 'name'] },
          ),
        }),
        delivery,
        limits,
      },
      {
        'x-kubernetes-validations': [
          rule(
            "!has(self.provider) || self.provider.type != 'Kubernetes' || has(self.provider.kubeconfigSecretRef)",
            'a provider of type Kubernetes needs kubeconfigSecretRef',
          ),
          rule('self.type == oldSelf.type', 'the type of a space can not be changed'),
          rule(
            "self.type == 'Workload' || (!has(self.delivery) && !has(self.limits))",
            'only a space of type Workload has delivery and limits: take them out',
          ),
        ],
      },
    ),
    status: object('The state of the space.', {
      url: string('The URL of the API of the space.'),
      usage: object('How much of its limits the space uses. Absent without spec.limits.', {
        objects: integer('Objects that the space stores.', { minimum: 0 }),
        bytes: integer('Bytes of these objects, as they are stored.', { minimum: 0 }),
      }),
      conditions,
    }),
    root: { required: ['spec'] },
    columns: [
      { name: 'Type', type: 'string', jsonPath: '.spec.type' },
      { name: 'Provider', type: 'string', jsonPath: '.spec.provider.type' },
      { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
      { name: 'Objects', type: 'integer', jsonPath: '.status.usage.objects', priority: 1 },
      { name: 'URL', type: 'string', jsonPath: '.status.url', priority: 1 },
    ],
  });
}
