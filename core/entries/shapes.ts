/** Schemas that attributes and bodies of entries share. */
import * as z from 'zod';

/** Limits for keys of entries and ids of placements. Some keys of the store contain one of each, and a key of the store has at most 1,978 bytes. */
export const entryKeyBytesMax = 1_200;
export const placementIdBytesMax = 700;

/** A name is a part of keys of the store. It must not contain a separator or a control character, because then two different keys could look the same. */
export const name = z.string().regex(/^[^/\p{Cc}]{1,253}$/u, 'is no name');
export const whole = z.number().int().min(0);
export const texts = z.record(z.string(), z.string());

export const selector = z.looseObject({
  matchLabels: texts.optional(),
  matchExpressions: z
    .array(
      z.looseObject({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
        values: z.array(z.string()).optional(),
      }),
    )
    .optional(),
});

type Frozen<T> = T extends readonly unknown[] | object ? { readonly [Key in keyof T]: Frozen<T[Key]> } : T;
/** The type of the values that a schema accepts. Read-only, because several rooms share one content. */
export type AttributesOf<Schema extends z.ZodType> = Frozen<z.infer<Schema>>;

export const wave = z.looseObject({
  selector: selector.optional(),
  fraction: z.number().optional(),
  count: z.number().optional(),
});

const resourceLists = z.array(z.looseObject({ apiGroup: z.string(), resources: z.array(z.string()) }));
/** `spec.delivery` of a Space, as the rows of its placements carry it (core/match/delivery-bounds.ts). */
export const deliveryBounds = z.looseObject({
  locationSelector: selector.optional(),
  namespaces: z.array(z.string()).optional(),
  clusterScoped: resourceLists.optional(),
  upsync: resourceLists.optional(),
  priorityMax: z.number().optional(),
});
