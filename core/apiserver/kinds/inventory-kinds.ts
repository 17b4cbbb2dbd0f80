/** inventory.banyan.io: the kinds that describe where workloads can run. Infrastructure teams write these objects. Placement only reads them. */

import { servedMax } from '../../entries/served-resources.ts';
import { pathMax } from '../../object/names.ts';
import { propertiesMax } from './location-expression-check.ts';
import {
  boolean,
  conditions,
  definition,
  integer,
  labelSelector,
  list,
  listByKey,
  object,
  quantities,
  string,
  stringMap,
  strings,
  time,
} from './schema-builders.ts';

export const inventoryGroup = 'inventory.banyan.io';

const locationDefinition = definition({
  group: inventoryGroup,
  names: { plural: 'locations', kind: 'Location', shortNames: ['loc'] },
  description: 'A place where workloads may run. Selectors and customization see its labels and annotations.',
  spec: object('The place.', {
    description: string('For people.'),
    resource: object('The kind of the inventory objects behind the place. The default is SyncTarget.', {
      group: string('API group.', { default: inventoryGroup }),
      version: string('API version.', { default: 'v1alpha1' }),
      resource: string('Plural name.', { default: 'synctargets' }),
    }),
    availableSelectorLabels: listByKey(
      'Labels that authors of placements may use.',
      ['key'],
      object(
        'One label.',
        {
          key: string('The label.', { minLength: 1, maxLength: 317 }),
          values: strings('Values that occur.'),
          description: string('For people.'),
        },
        { required: ['key'] },
      ),
    ),
    instanceSelector: labelSelector(
      'Selects the SyncTargets of the place by their labels. Left out: the SyncTarget with the same name.',
    ),
  }),
  status: object('The SyncTargets of the place.', {
    instances: integer('Selected SyncTargets.', { minimum: 0 }),
    availableInstances: integer('Selected SyncTargets that are connected and schedulable.', { minimum: 0 }),
    conditions,
  }),
  columns: [
    { name: 'Available', type: 'integer', jsonPath: '.status.availableInstances' },
    { name: 'Instances', type: 'integer', jsonPath: '.status.instances' },
    { name: 'Description', type: 'string', jsonPath: '.spec.description', priority: 1 },
  ],
});

const syncTargetDefinition = definition({
  group: inventoryGroup,
  names: { plural: 'synctargets', kind: 'SyncTarget', shortNames: ['st'] },
  description:
    'One edge cluster, as placement sees it. In the system space of the agent’s parent, it has the name of the agent. In an inventory space, it names the agent by its path.',
  spec: object('The facts that the owner of the cluster writes.', {
    attachTo: string(
      'Path of the agent that the SyncTarget stands for, such as eu:paris:store-17. The agent is somewhere below the node that has the inventory space. Not allowed in a system space.',
      { maxLength: pathMax },
    ),
    unschedulable: boolean('The cluster keeps its placements and gets no new ones.', { default: false }),
    evictAfter: time('From this time on, all placements are removed from the cluster.'),
    cells: stringMap('Failure domains that the cluster is part of, by kind of domain.'),
    properties: stringMap(
      'Facts that expressions and customization read, such as carbon.gPerKWh. They may change at any time.',
      {
        maxProperties: propertiesMax,
      },
    ),
  }),
  status: object('The report of the agent.', {
    kubernetesVersion: string('Version of the API server, such as v1.34.1.'),
    platform: string('The platform of the API server, such as linux/amd64.'),
    nodes: integer('Nodes of the cluster.', { minimum: 0 }),
    readyNodes: integer('Nodes of the cluster that are ready.', { minimum: 0 }),
    capacity: quantities('All resources of the cluster.'),
    allocatable: quantities('The resources that workloads may use.'),
    lastHeartbeatTime: time('When the parent last received a message of the agent.'),
    attachedTo: string('Path of the node that the agent is connected to.'),
    delivered: boolean('Whether delivered objects are at the cluster, as the agent has reported last.'),
    servedResourceCount: integer(
      `Number of kinds that the cluster serves. syncedResources has the first ${servedMax}.`,
      {
        minimum: 0,
      },
    ),
    syncedResources: list(
      'Kinds that the cluster serves and the agent can handle, those of Kubernetes itself first. The list changes with the CustomResourceDefinitions of the cluster.',
      object(
        'One kind.',
        {
          group: string('API group; empty for the core group.'),
          resource: string('Plural name.'),
          versions: strings('Served versions, the preferred one first.'),
        },
        { required: ['resource'] },
      ),
    ),
    conditions,
  }),
  columns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Version', type: 'string', jsonPath: '.status.kubernetesVersion' },
    { name: 'Nodes', type: 'integer', jsonPath: '.status.nodes' },
    { name: 'Nodes ready', type: 'integer', jsonPath: '.status.readyNodes', priority: 1 },
    { name: 'Attached to', type: 'string', jsonPath: '.status.attachedTo' },
    { name: 'Unschedulable', type: 'boolean', jsonPath: '.spec.unschedulable' },
    { name: 'Heartbeat', type: 'date', jsonPath: '.status.lastHeartbeatTime' },
  ],
});

export const inventoryDefinitions = [locationDefinition, syncTargetDefinition];
