/** `delivery` and `limits` of a space, and `accept` of a site, in the files of nodes and in topologies. */
import * as z from 'zod';
import { checkSelector } from '../object/label-selector-check.ts';
import { refusing } from '../runtime/schema-words.ts';
import { deliveryListMax, isNamespacePattern, tooLargeDelivery } from './delivery-bounds.ts';

const namespaces = z
  .array(
    z
      .string()
      .max(63)
      .regex(isNamespacePattern, { error: refusing("write a namespace such as shop, or a pattern such as 'shop-*'") }),
  )
  .max(deliveryListMax);

const kinds = z
  .array(
    z.strictObject({
      apiGroup: z.string().max(253).describe("API group. '': the core group. '*': all groups."),
      resources: z.array(z.string().min(1)).min(1).max(deliveryListMax).describe("Plural names. '*': all."),
    }),
  )
  .max(deliveryListMax);

const selector = z
  .strictObject({
    matchLabels: z.record(z.string(), z.string()).exactOptional(),
    matchExpressions: z
      .array(
        z.strictObject({
          key: z.string(),
          operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
          values: z.array(z.string()).exactOptional(),
        }),
      )
      .exactOptional(),
  })
  .superRefine((value, context) => {
    for (const { field, message } of checkSelector(value, 'selector'))
      context.addIssue({ code: 'custom', message: `${field}: ${message}` });
  });

const deliverySchema = z
  .strictObject({
    locationSelector: selector
      .exactOptional()
      .describe('Placements may match only Locations that match this selector.'),
    namespaces: namespaces
      .exactOptional()
      .describe("Namespaces at the clusters, such as 'shop-*', into which objects may go. Default: all."),
    clusterScoped: kinds
      .exactOptional()
      .describe('Kinds of cluster-scoped objects that may go to clusters. Empty: none. Default: all.'),
    upsync: kinds
      .exactOptional()
      .describe('Kinds that placements may read back. Empty: none. Default: all but Secrets, which need their name.'),
    priorityMax: z.number().int().exactOptional().describe('The highest spec.priority of a placement.'),
  })
  .superRefine((delivery, context) => {
    const message = tooLargeDelivery(delivery);
    if (message) context.addIssue({ code: 'custom', message });
  })
  .describe('Bounds for everything that leaves the space. Default: none.');

const spaceLimitsSchema = z
  .strictObject({
    objects: z.number().int().min(0).exactOptional().describe('Objects that the space may store.'),
    bytes: z.number().int().min(0).exactOptional().describe('Bytes of these objects.'),
    requestsPerSecond: z
      .number()
      .int()
      .min(1)
      .exactOptional()
      .describe('Requests of all users together; a burst may have twice as many.'),
    watches: z.number().int().min(0).exactOptional().describe('Watches of all users together that run at a time.'),
  })
  .describe('How much the space may hold, and how fast it may be asked. Default: no limit.');

/** One space of a node. */
export const spaceSchema = z
  .strictObject({
    name: z.string(),
    type: z.enum(['Workload', 'Inventory', 'System']).default('Workload'),
    delivery: deliverySchema.exactOptional(),
    limits: spaceLimitsSchema.exactOptional(),
  })
  .refine(({ type, delivery, limits }) => type === 'Workload' || (delivery === undefined && limits === undefined), {
    error: 'only a space of type Workload has delivery and limits: take them out',
  });
export type ConfiguredSpace = z.infer<typeof spaceSchema>;

/** The rules of a site about objects of each source. */
export const acceptSchema = z
  .array(
    z.strictObject({
      source: z
        .string()
        .min(1)
        .max(253)
        .regex(/^[-a-z0-9.*]+$/, {
          error: refusing(
            "write the node and the space of a source, such as center.retail, or a pattern such as 'center.*'",
          ),
        })
        .describe("Node and space, such as center.retail. '*' stands for any characters."),
      namespaces: namespaces.describe("Namespaces, such as 'shop-*', into which this source may bring objects."),
      clusterScoped: kinds.default([]).describe('Kinds of cluster-scoped objects that it may bring. Default: none.'),
      resources: kinds.exactOptional().describe('Kinds of objects in the namespaces that it may bring. Default: all.'),
    }),
  )
  .max(deliveryListMax)
  .describe('Which sources may bring what into which namespaces of this cluster. Default: everything.');
export type AcceptRule = z.infer<typeof acceptSchema>[number];
