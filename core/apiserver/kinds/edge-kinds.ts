/**
 * edge.banyan.io: the kinds that decide which objects go to which destinations. Workload teams write these objects in workload spaces, at any level of the
 * tree.
 */
import type { SchemaProps } from '../crd/definition.ts';
import { applyRules } from './apply-rules-schema.ts';
import { associatedLimitDefault, edgeGroup } from './edge-placement.ts';
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

/** Maximal number of entries in one object of a list that grows with the tree. Further entries are in further objects. */
export const sliceEntriesMax = 1000;
/** Maximal number of rules of each type in a placement. Matching checks each rule for each object. */
const itemsMax = 64;

const apiGroup = string('API group of the objects: empty for the core group, * for all (also when left out).', {
  maxLength: 253,
});
const resources = strings('Plural names of resources. * selects all. Empty or left out selects nothing.', {
  maxItems: 256,
});
const namespaces = strings('Namespaces of the objects. * selects all. Left out: any namespace.', { maxItems: 1024 });

function selectors(description: string, minItems = 0): SchemaProps {
  const more = { ...(minItems > 0 ? { minItems } : {}), maxItems: itemsMax };
  return list(description, labelSelector('One of the selectors.'), more);
}

/** The fields of an exception. An empty list would leave out nothing, so it is refused. */
const exception: Properties = {
  apiGroup: string('API group of the objects: empty for the core group, * for all (also when left out).', {
    maxLength: 253,
  }),
  resources: strings('Plural names of resources. * or left out: all.', { minItems: 1, maxItems: 256 }),
  namespaces: strings('Namespaces of the objects. * is every namespace. Left out: cluster-scoped objects too.', {
    minItems: 1,
    maxItems: 1024,
  }),
  namespaceSelectors: selectors('Select namespaces by their labels. One matching selector is enough.', 1),
  objectNames: strings('Names of the objects. * or left out: any name.', { minItems: 1, maxItems: 1024 }),
  labelSelectors: selectors(
    'Select objects by their labels. One matching selector is enough. Left out: any labels.',
    1,
  ),
};

const downsyncItem: Properties = {
  apiGroup,
  resources: strings(
    'Plural names of resources. * selects all, except bookkeeping of the space: releases of helm, kube-root-ca.crt, default ServiceAccounts and their tokens, Leases, endpoints that controllers made. To send such an object, name its resource here, or its name in objectNames. Empty or left out selects nothing.',
    { maxItems: 256 },
  ),
  namespaces: strings(
    'Namespaces of the objects. * selects all. An item without namespaces and namespaceSelectors selects cluster-scoped objects too.',
    { maxItems: 1024 },
  ),
  namespaceSelectors: selectors('Select namespaces by their labels. One matching selector is enough.'),
  objectNames: strings('Names of the objects. * selects all. Left out: any name.', { maxItems: 1024 }),
  labelSelectors: selectors('Select objects by their labels. One matching selector is enough. Left out: any labels.'),
  except: list(
    'The item does not select objects that match one of these. A Namespace or CustomResourceDefinition that a selected object needs goes with it all the same.',
    object('One exception. Fields are ANDed.', exception),
    { maxItems: itemsMax },
  ),
  createOnly: boolean('The agent creates the object if it is missing, and does not change it afterwards.'),
  customizers: strings(
    'Customizers for these objects, in the order in which they apply: a name in the namespace of the object, or namespace/name.',
    { maxItems: 16 },
  ),
  statusSummarizers: strings('Names of StatusSummarizers for the status of these objects.', { maxItems: itemsMax }),
};

const upsyncItem: Properties = {
  apiGroup,
  resources,
  namespaces,
  names: strings('Names of the objects. * selects all.', { maxItems: 1024 }),
  labelSelectors: selectors('Select objects by their labels. One matching selector is enough.'),
  returnTo: string(
    'How far the objects go up. Parent (the default): to the parent of the agent. Center: from node to node up to the node that has this space.',
    { enum: ['Parent', 'Center'] },
  ),
  statusSummarizers: strings(
    'Names of StatusSummarizers for these objects. In their expressions, returned is the whole object.',
    { maxItems: itemsMax },
  ),
};

const associatedItem: Properties = {
  apiGroup,
  resources,
  limit: integer(
    `Maximal number of objects of these resources that report their state, for each workload object and destination. The default is ${associatedLimitDefault}.`,
    { minimum: 1, maximum: 1000 },
  ),
  statusSummarizers: strings(
    'Names of StatusSummarizers for these objects. In their expressions, returned is the whole object. returned.kind has its kind.',
    { maxItems: itemsMax },
  ),
};

const spec = object(
  'Which objects go to which destinations.',
  {
    locationSelectors: selectors('Select Locations by their labels. One matching selector is enough.'),
    locationExpression: string(
      'CEL over location, syncTarget, path and properties. A destination matches only if the result is true, in addition to the selectors.',
      { minLength: 1, maxLength: 4096 },
    ),
    downsync: list(
      'Which objects go down. Fields of an item are ANDed, items are ORed. Empty selects nothing.',
      object('One rule.', downsyncItem),
      { maxItems: itemsMax },
    ),
    upsync: list(
      'Which objects that were created at the edge come up. upsync wins over downsync of the same space, and takes no object that another space delivers. Empty selects nothing. resources: ["*"] includes no Secrets, Events, Leases, Endpoints, EndpointSlices, Namespaces and CustomResourceDefinitions: name these.',
      object('One rule.', upsyncItem),
      { maxItems: itemsMax },
    ),
    associated: list(
      'Which objects report their state too, if a placed object owns them. resources: ["*"] includes the same resources as in upsync.',
      object('One rule.', associatedItem),
      { maxItems: itemsMax },
    ),
    wantSingletonReportedState: boolean('The same as reportedState: Exact.', { default: false }),
    reportedState: string(
      'What .status of the objects shows in this space. Aggregate (the default): the state at all destinations, merged by the rules of the kind. Exact: the status of the destination, only while the placement matches exactly one in all. None: nothing.',
      { enum: ['Aggregate', 'Exact', 'None'] },
    ),
    priority: integer('Decides between placements of different spaces for the same object: the greater number wins.', {
      format: 'int32',
      minimum: -1_000_000_000,
      maximum: 1_000_000_000,
      default: 0,
    }),
    move: moveSpec,
    deletion: object('How the agent removes objects that no placement wants any more.', {
      propagationPolicy: string('What happens to the dependents of the objects. The default is Background.', {
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
      {
        ...rule(
          '!self.wantSingletonReportedState || !has(self.reportedState) || self.reportedState == "Exact"',
          'spec.wantSingletonReportedState: true asks for Exact; set spec.reportedState to Exact, or take spec.wantSingletonReportedState out',
        ),
        fieldPath: '.reportedState',
      },
    ],
  },
);

function count(description: string): SchemaProps {
  return integer(description, { minimum: 0 });
}

const summary = object(
  'Counts of destinations, exact for observedGeneration. fresh + stale + never + quarantined = expected.',
  {
    expected: count('Destinations that match.'),
    fresh: count('Destinations that are connected and have reported.'),
    stale: count('Destinations that are not connected now. Their last reports are not part of the counts below.'),
    never: count('Destinations that have not reported yet.'),
    quarantined: count('Destinations with entries that they can not use.'),
    synced: count('Destinations whose agent has stored all objects.'),
    applied: count('Destinations whose cluster has accepted all objects.'),
    available: count('Destinations whose objects are all available.'),
    failed: count('Destinations with an object that fails.'),
    conflicted: count('Destinations with an object that another source has won.'),
    outdated: count('Destinations whose newest report is about an older state of the objects.'),
    oldestSince: time('When the destination that is stale for the longest time was last heard.'),
  },
);

const status = object('The state of the placement.', {
  observedGeneration: count('The generation of the placement that this status is about.'),
  matchingLocationCount: count('Destinations that match.'),
  summary,
  display: string('The summary in one line, such as: available 4/4'),
  failures: list(
    'A sample of what is wrong: first objects that fail or wait, then destinations that are away or have not reported.',
    object('One object at one destination, or one place.', {
      path: string(
        'Path of the destination, such as eu:paris:store-17, or of a relay that is away with all its destinations.',
      ),
      object: string(
        'The object, such as: deployments.apps shop/till. Absent: the entry is about the place as a whole.',
      ),
      since: time('Only for a place that is away: when it was last heard.'),
      destinations: count('Only for a place: the number of destinations that the entry is about.'),
      reason: string('The reason, in one word.'),
      message: string('The reason, in a sentence for people.'),
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
  description: 'Selects the objects of a space that go to Locations, and shows their state there.',
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
    { name: 'Oldest', type: 'date', jsonPath: '.status.summary.oldestSince', priority: 1 },
    { name: 'Failed', type: 'integer', jsonPath: '.status.summary.failed', priority: 1 },
  ],
});

const singlePlacementSliceDefinition = definition({
  group: edgeGroup,
  names: { plural: 'singleplacementslices', kind: 'SinglePlacementSlice', shortNames: ['sps'] },
  description:
    'A part of the destinations that a placement matches. Destinations of agents directly below this node are listed one by one, all others by subtree.',
  more: {
    destinations: list(
      'Destinations that this node knows one by one.',
      object(
        'One destination.',
        {
          cluster: string('The edge cluster.'),
          locationName: string('The Location.'),
          syncTargetName: string('The SyncTarget.'),
          syncTargetUID: string('The uid of the SyncTarget.'),
          path: string('Path of the agent, such as eu:paris:store-17.'),
        },
        { required: ['locationName', 'syncTargetName', 'path'] },
      ),
      { maxItems: sliceEntriesMax },
    ),
    subtrees: list(
      'Destinations below children. The children list them one by one.',
      object(
        'One child.',
        {
          path: string('Path of the child.'),
          matched: count('Matching destinations below the child.'),
          observedTime: time('When the child reported this number.'),
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
