/** inventory.banyan.io: where workloads may run. Written by whoever manages infrastructure, only read by placement. */

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
  spec: object('What the place is.', {
    description: string('For people.'),
    resource: object('The kind of inventory object behind the place; SyncTarget if left out.', {
      group: string('API group.', { default: inventoryGroup }),
      version: string('API version.', { default: 'v1alpha1' }),
      resource: string('Plural name.', { default: 'synctargets' }),
    }),
    availableSelectorLabels: listByKey(
      'Labels that authors of placements may count on.',
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
      'Selects the SyncTargets of the place by their labels; if left out, the one of the same name.',
    ),
  }),
  status: object('What is there.', {
    instances: integer('SyncTargets selected.', { minimum: 0 }),
    availableInstances: integer('Those among them that are connected and schedulable.', { minimum: 0 }),
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
    'One edge cluster, as placement sees it. In the system space of the agent’s parent it has the name of the agent; in an inventory space it names it by path.',
  spec: object('What its owner says of it.', {
    attachTo: string(
      'Path of the agent that it stands for, such as eu:paris:store-17: somewhere below the node that has the inventory space. Not in a system space.',
      { maxLength: pathMax },
    ),
    unschedulable: boolean('Nothing new is placed there; what is there stays.', { default: false }),
    evictAfter: time('From then on, what is there is taken away.'),
    cells: stringMap('Failure domains that it is part of, by kind of domain.'),
    properties: stringMap(
      'Facts that expressions and customization read, such as carbon.gPerKWh; they may change at any time.',
      {
        maxProperties: propertiesMax,
      },
    ),
  }),
  status: object('What its agent reports.', {
    kubernetesVersion: string('Version of the API server, such as v1.34.1.'),
    platform: string('That the API server runs on, such as linux/amd64.'),
    nodes: integer('Nodes of the cluster.', { minimum: 0 }),
    readyNodes: integer('Those among them that are ready.', { minimum: 0 }),
    capacity: quantities('All that the cluster has.'),
    allocatable: quantities('What workloads may use of it.'),
    lastHeartbeatTime: time('When the parent last received a message of the agent.'),
    attachedTo: string('Path of the node that the agent is connected to.'),
    servedResourceCount: integer(`Kinds that the cluster serves; syncedResources has the first ${servedMax}.`, {
      minimum: 0,
    }),
    syncedResources: list(
      'Kinds that the cluster serves and the agent can handle, those of Kubernetes itself first. They come and go with their definitions.',
      object(
        'One kind.',
        {
          group: string('API group; empty for the core group.'),
          resource: string('Plural name.'),
          versions: strings('Served versions, preferred first.'),
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
    { name: 'Unschedulable', type: 'boolean', jsonPath: '.spec.unschedulable', priority: 1 },
    { name: 'Heartbeat', type: 'date', jsonPath: '.status.lastHeartbeatTime' },
  ],
});

export const inventoryDefinitions = [locationDefinition, syncTargetDefinition];
