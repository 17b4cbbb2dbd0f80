/** Schemas that attributes and bodies of entries share. */
import * as z from 'zod';

/** Two keys, one of a placement and one of an object, fit into one key of a store (1,978 bytes) where this is needed. */
export const entryKeyBytesMax = 1_200;
export const placementIdBytesMax = 700;

/** A name is part of keys of the store: with separators or control characters in it, one key could be read as two. */
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
/** The type of the values that a schema accepts. Read-only, because contents are shared. */
export type AttributesOf<Schema extends z.ZodType> = Frozen<z.infer<Schema>>;

export const wave = z.looseObject({
  selector: selector.optional(),
  fraction: z.number().optional(),
  count: z.number().optional(),
});
