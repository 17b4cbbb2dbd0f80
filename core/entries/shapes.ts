/** Schemas that attributes and bodies of entries share. */
import * as z from 'zod';

/** Part of keys of the store: separators and ends of texts would make one key of two. */
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
/** The type of what a schema accepts. Nobody changes what was read of an entry: contents are shared. */
export type AttributesOf<Schema extends z.ZodType> = Frozen<z.infer<Schema>>;

const amount = z.union([z.number(), z.string()]);
export const wave = z.looseObject({
  selector: selector.optional(),
  fraction: z.number().optional(),
  count: z.number().optional(),
});

/** Of a release (core/rollout/release.ts): what a last hop needs to decide. */
export const release = z.looseObject({
  refs: z.array(name),
  release: whole,
  number: whole,
  salt: z.string(),
  wave: z.number().int(),
  halted: z.boolean(),
  waves: z.array(wave),
  drawn: z.array(z.number()).nullable(),
  maxUnavailable: amount.optional(),
  errorBudget: amount,
  ratePerMinute: z.number().optional(),
  lease: z.number(),
  authorizationSeconds: z.number(),
  expected: whole,
  target: whole,
  promotedTarget: whole,
  held: whole,
  digest: z.string(),
  customizerDigest: z.string(),
});
