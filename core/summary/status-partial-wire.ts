/** Encodes and decodes status partials, as JSON. Equal partials give equal bytes. */
import * as z from 'zod';
import { countUpTo, cutCounts, destinationsMax } from '../object/bounded-counts.ts';
import { stableStringify } from '../object/canonical.ts';
import { decodeChecked } from '../object/checked.ts';
import { text } from '../store/bytes.ts';
import { leftOutMax, leftOutNameMax } from './left-out.ts';
import { conditionTypesMax, messageMax, reasonMax } from './status-conditions.ts';
import { fieldTextMax } from './status-fields.ts';
import { type StatusPartial, standings } from './status-partial.ts';
import { unionMax } from './status-rules.ts';

/** Limit for the fields: more than any kind of the table has. */
const fieldsMax = 32;

export function encodeStatusPartial(partial: StatusPartial): Uint8Array {
  const { counts, fields } = partial;
  const present = Object.entries(cutCounts({ ...counts })).filter(([, count]) => count > 0);
  const cut = Object.entries(fields).map(([path, value]) => [path, typeof value === 'number' ? cutSum(value) : value]);
  return text(stableStringify({ ...partial, counts: Object.fromEntries(present), fields: Object.fromEntries(cut) }));
}

function cutSum(sum: number): number {
  return Math.min(sum, sumMax);
}

/** Pods of all destinations: a thousand for each destination. */
const sumMax = destinationsMax * 1_000;
const count = countUpTo(destinationsMax).default(0);
const problem = z.object({
  standing: z.enum(standings),
  path: z.string().max(4096),
  reason: z.string().max(reasonMax),
  message: z.string().max(messageMax),
});
const condition = z.object({
  type: z.string().min(1).max(reasonMax),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(reasonMax),
  message: z.string().max(messageMax),
  path: z.string().max(4096).exactOptional(),
  count: countUpTo(destinationsMax),
});
const item = z.string().max(fieldTextMax).refine(isJson, 'is not JSON');
const field = z.union([countUpTo(sumMax), z.string().max(fieldTextMax), z.null(), z.array(item).max(unionMax)]);
const partialSchema = z.object({
  counts: z.object({
    failed: count,
    conflicted: count,
    quarantined: count,
    stale: count,
    never: count,
    waiting: count,
    available: count,
  }),
  worst: problem.exactOptional(),
  observed: z.number().int().min(0).exactOptional(),
  observes: z.literal(true).exactOptional(),
  fields: z
    .record(z.string().max(reasonMax), field)
    .refine((fields) => Object.keys(fields).length <= fieldsMax, `has more than ${fieldsMax} fields`),
  leftOut: z.array(z.string().max(leftOutNameMax)).max(leftOutMax).exactOptional(),
  conditions: z.array(condition).max(conditionTypesMax),
  only: z.record(z.string(), z.unknown()).exactOptional(),
});

/** Decodes the partial that a child sent. Throws Protocol if the bytes are no status partial. */
function decodeStatusPartial(bytes: Uint8Array): StatusPartial {
  return decodeChecked('a status partial', partialSchema, bytes);
}

/** Decoded contents. Several callers need the same content. */
const decoded = new WeakMap<object, StatusPartial>();

export function readStatusPartial(content: { readonly body: Uint8Array }): StatusPartial {
  const before = decoded.get(content);
  if (before) return before;
  const partial = decodeStatusPartial(content.body);
  decoded.set(content, partial);
  return partial;
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
