/** edge.banyan.io: what goes where. Written by workload teams, in workload spaces, at any level. */
import type { SchemaProps } from '../crd/definition.ts';
import { applyRules } from './apply-rules-schema.ts';
import { associatedLimitDefault } from './edge-placement.ts';
import { moveSpec, movingStatusSchema } from './move-schema.ts';
import { rolloutSpec, rolloutStatusSchema } from './rollout-schema.ts';
import {
  boolean,
  conditions,
  definition,
  integer,
  labelSelector,
  list,
  object,
  type Properties,
  rule,
  string,
  strings,
  time,
} from './schema-builders.ts';

export const edgeGroup = 'edge.banyan.io';

/** What one object may hold of a list whose length grows with the tree; more goes into more objects. */
export const sliceEntriesMax = 1000;
/** Rules of one kind in one placement: matching looks at each of them for each object. */
const itemsMax = 64;

const apiGroup = string('API group of the objects: empty for the core group, * for all (also when left out).', {
  maxLength: 253,
});
const resources = strings('Plural names of resources; * is all. Empty or left out selects nothing.', { maxItems: 256 });
const namespaces = strings('Namespaces of the objects; * is all. Left out: of any namespace.', { maxItems: 1024 });

function selectors(description: string): SchemaProps {
  return list(description, labelSelector('One of the selectors.'), { maxItems: itemsMax });
}

const downsyncItem: Properties = {
  apiGroup,
  resources,
  namespaces: strings(
    'Namespaces of the objects; * is all. An item without namespaces and namespaceSelectors selects cluster-scoped objects too.',
    { maxItems: 1024 },
  ),
  namespaceSelectors: selectors('Select namespaces by their labels; one that matches is enough.'),
  objectNames: strings('Names of the objects; * is all. Left out: of any name.', { maxItems: 1024 }),
  labelSelectors: selectors('Select objects by their labels; one that matches is enough. Left out: any labels.'),
  createOnly: boolean('The object is made where it is missing, and left alone afterwards.'),
  customizers: strings(
    'Customizers for these objects, in the order of their application: a name in the namespace of the object, or namespace/name.',
    { maxItems: 16 },
  ),
  statusSummarizers: strings('Names of StatusSummarizers for the status of these objects.', { maxItems: itemsMax }),
};

const upsyncItem: Properties = {
  apiGroup,
  resources,
  namespaces,
  names: strings('Names of the objects; * is all.', { maxItems: 1024 }),
  labelSelectors: selectors('Select objects by their labels; one that matches is enough.'),
  returnTo: string(
    'How far the objects come up: to the node above the cluster (Parent, also if left out), or on from node to node to the one that has this space.',
    { enum: ['Parent', 'Center'] },
  ),
  statusSummarizers: strings('Names of StatusSummarizers for these objects: there, returned is the whole object.', {
    maxItems: itemsMax,
  }),
};

const associatedItem: Properties = {
  apiGroup,
  resources,
  limit: integer(
    `Objects of these resources per workload object and destination whose state comes back, at most; ${associatedLimitDefault} if left out.`,
    { minimum: 1, maximum: 1000 },
  ),
  statusSummarizers: strings(
    'Names of StatusSummarizers for the objects that come back: there, returned is the whole object, so that returned.kind tells them apart.',
    { maxItems: itemsMax },
  ),
};

const spec = object(
  'What goes where.',
  {
    locationSelectors: selectors('Select Locations by their labels; one that matches is enough.'),
    locationExpression: string('CEL over location, syncTarget, path and properties; must be true beside a selector.', {
      minLength: 1,
      maxLength: 4096,
    }),
    downsync: list(
      'Which objects go down: fields of an item are ANDed, items are ORed. Empty selects nothing.',
      object('One rule.', downsyncItem),
      { maxItems: itemsMax },
    ),
    upsync: list(
      'Which objects that are born at the edge come up; wins over downsync. Empty selects nothing.',
      object('One rule.', upsyncItem),
      { maxItems: itemsMax },
    ),
    associated: list(
      'Which objects that are owned by the placed ones report their state too.',
      object('One rule.', associatedItem),
      { maxItems: itemsMax },
    ),
    wantSingletonReportedState: boolean(
      'Exact reported state is written into the objects while the placement matches exactly one destination in all.',
      { default: false },
    ),
    priority: integer('Decides between placements of different spaces for the same object: the greater wins.', {
      format: 'int32',
      minimum: -1_000_000_000,
      maximum: 1_000_000_000,
      default: 0,
    }),
    move: moveSpec,
    deletion: object('How objects are removed where they are not wanted any more.', {
      propagationPolicy: string('What becomes of objects that they own; Background if left out.', {
        enum: ['Foreground', 'Background', 'Orphan'],
      }),
    }),
    ...applyRules,
    rollout: rolloutSpec,
  },
  {
    'x-kubernetes-validations': [
      {
        ...rule(
          'has(self.locationExpression) || (has(self.locationSelectors) && size(self.locationSelectors) > 0)',
          'at least one label selector is needed unless spec.locationExpression is given; matchLabels: {} selects every Location',
        ),
        reason: 'FieldValueRequired',
        fieldPath: '.locationSelectors',
      },
    ],
  },
);

function count(description: string): SchemaProps {
  return integer(description, { minimum: 0 });
}

const summary = object(
  'Counts of destinations, exact for observedGeneration; fresh + stale + never + quarantined = expected.',
  {
    expected: count('Destinations that match.'),
    fresh: count('Those that are connected and have reported.'),
    stale: count('Those that are not connected now; what they reported last is not counted below.'),
    never: count('Those that have not reported yet.'),
    quarantined: count('Those that have entries that they could not take.'),
    synced: count('Those whose agent has stored all objects.'),
    applied: count('Those whose cluster has accepted all objects.'),
    available: count('Those whose objects are all available.'),
    failed: count('Those with an object that fails.'),
    conflicted: count('Those with an object that another source holds.'),
    outdated: count('Those that have reported, but for something older.'),
    oldestAgeSeconds: count('How long the longest silent destination has been silent.'),
  },
);

const status = object('What has become of it.', {
  observedGeneration: count('The generation of the placement that all of this is of.'),
  matchingLocationCount: count('Destinations that match.'),
  summary,
  display: string('The summary in a line, such as: available 4/4'),
  failures: list(
    'A sample of what fails.',
    object('One failing object.', {
      path: string('Of the destination, such as eu:paris:store-17.'),
      object: string('The object, such as: deployments.apps shop/till'),
      reason: string('One word for why.'),
      message: string('A sentence for people.'),
    }),
    { maxItems: 100 },
  ),
  rollout: rolloutStatusSchema,
  moving: movingStatusSchema,
  conditions,
});

export const edgePlacementDefinition = definition({
  group: edgeGroup,
  names: { plural: 'edgeplacements', kind: 'EdgePlacement', shortNames: ['epl'] },
  description: 'Says which objects of a space go to which Locations, and shows what has become of them.',
  spec,
  status,
  root: { required: ['spec'] },
  columns: [
    { name: 'Display', type: 'string', jsonPath: '.status.display' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: 'Rollout', type: 'string', jsonPath: '.status.rollout.message' },
    { name: 'Expected', type: 'integer', jsonPath: '.status.summary.expected', priority: 1 },
    { name: 'Synced', type: 'integer', jsonPath: '.status.summary.synced', priority: 1 },
    { name: 'Applied', type: 'integer', jsonPath: '.status.summary.applied', priority: 1 },
    { name: 'Moving', type: 'string', jsonPath: '.status.conditions[?(@.type=="Moving")].status', priority: 1 },
    { name: 'Stale', type: 'integer', jsonPath: '.status.summary.stale', priority: 1 },
    { name: 'Failed', type: 'integer', jsonPath: '.status.summary.failed', priority: 1 },
  ],
});

const singlePlacementSliceDefinition = definition({
  group: edgeGroup,
  names: { plural: 'singleplacementslices', kind: 'SinglePlacementSlice', shortNames: ['sps'] },
  description: 'A part of the places that a placement matches: one by one what this node knows, by subtree the rest.',
  more: {
    destinations: list(
      'Places that this node knows one by one.',
      object(
        'One place.',
        {
          cluster: string('The edge cluster.'),
          locationName: string('The Location.'),
          syncTargetName: string('The SyncTarget.'),
          syncTargetUID: string('Its uid.'),
          path: string('Of the agent, such as eu:paris:store-17.'),
        },
        { required: ['locationName', 'syncTargetName', 'path'] },
      ),
      { maxItems: sliceEntriesMax },
    ),
    subtrees: list(
      'Places below children that know them themselves.',
      object(
        'One child.',
        {
          path: string('Of the child.'),
          matched: count('Places below it.'),
          observedTime: time('When the child said so.'),
        },
        { required: ['path', 'matched'] },
      ),
      { maxItems: sliceEntriesMax },
    ),
  },
  root: {
    'x-kubernetes-validations': [
      rule(
        `(has(self.destinations) ? size(self.destinations) : 0) + (has(self.subtrees) ? size(self.subtrees) : 0) <= ${sliceEntriesMax}`,
        `destinations and subtrees have more than ${sliceEntriesMax} entries together; put the rest into another slice`,
      ),
    ],
  },
  columns: [{ name: 'Placement', type: 'string', jsonPath: '.metadata.labels.edge\\.banyan\\.io/placement' }],
});

export const edgeDefinitions = [edgePlacementDefinition, singlePlacementSliceDefinition];
