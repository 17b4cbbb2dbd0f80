/**
 * What an entry of the down feed has to be for a node to act on it: one judgement, in front of all that reads. An entry that fails it is quarantined
 * (feed/quarantine.ts), and nothing else happens.
 *
 * A body is only looked at where the node itself parses it: relays hand objects on as bytes, agents apply them.
 */
import * as z from 'zod';
import type { Content } from '../feed/feed.ts';
import type { Flaw, Judge } from '../feed/quarantine.ts';
import { beyondLimits } from '../object/json-limits.ts';
import { describeError } from '../runtime/errors.ts';
import { asText, text } from '../store/bytes.ts';
import { type EntryKey, isObjectEntry, parseEntryKey } from './entry-keys.ts';

/** Two keys fit into one key of a store (1,978 bytes) where that is needed: a placement's of at most 700 and an object's. */
const keyBytesMax = 1_200;
const placementIdBytesMax = 700;

/** Parts of keys of the store: separators and ends of texts would make one of two. */
const name = z.string().regex(/^[^/\p{Cc}]{1,253}$/u, 'is no name');
const whole = z.number().int().min(0);
const bare = z.looseObject({});
const texts = z.record(z.string(), z.string());
const refs = z.array(name);
const origin = { uid: z.string(), created: z.string(), generation: whole };

const selector = z.looseObject({
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
const amount = z.union([z.number(), z.string()]);
const wave = z.looseObject({
  selector: selector.optional(),
  fraction: z.number().optional(),
  count: z.number().optional(),
});

const objectAttributes = z.looseObject({
  ...origin,
  refs,
  createOnly: refs.optional(),
  implied: refs.optional(),
  customizers: z.array(z.string()).optional(),
  expand: z.literal(true).optional(),
  summarizers: z.record(z.string(), z.array(z.string())).optional(),
});

const attributeShapes = {
  tree: z.looseObject({ path: z.string(), labels: texts }),
  placement: z.looseObject({
    ...origin,
    move: z
      .looseObject({ order: z.enum(['MakeBeforeBreak', 'BreakBeforeMake']), deadlineSeconds: z.number().min(0) })
      .optional(),
  }),
  object: objectAttributes,
  auxiliary: z.looseObject({ ...origin, refs }),
  target: z.looseObject({
    generation: whole,
    target: whole,
    singleton: z.boolean(),
    priority: z.number(),
    created: z.string(),
    uid: z.string(),
    deletion: z.enum(['Orphan', 'Foreground', 'Background']).optional(),
    apply: z
      .looseObject({
        drift: z.enum(['Correct', 'Report', 'Ignore']).optional(),
        ignored: z.array(z.string()).optional(),
        adopt: z.enum(['IfUnowned', 'Always', 'Never']).optional(),
        replace: z.boolean().optional(),
      })
      .optional(),
  }),
  rules: bare,
  grant: z.looseObject({ sequence: whole }),
  withdrawn: z.looseObject({ asked: whole }),
  handed: z.looseObject({ release: whole, handed: z.boolean() }),
  keep: bare,
  promoted: z.looseObject({ refs, promoted: objectAttributes.omit({ refs: true }).optional(), revision: whole }),
  promotedCustomizer: z.looseObject({ refs, absent: z.literal(true).optional(), revision: whole }),
  release: z.looseObject({
    refs,
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
  }),
  era: z.looseObject({ gaps: z.array(z.tuple([whole, whole])) }),
  'release-held': z.looseObject({ token: z.string() }),
  inventory: z.looseObject({ path: z.string().max(keyBytesMax) }),
  owner: z.looseObject({ owner: whole, granted: z.boolean(), sequence: whole }),
  matched: z.looseObject({ labels: z.string() }),
  siblings: z.looseObject({ term: whole, lead: whole }),
} as const satisfies { readonly [type in EntryKey['type']]?: z.ZodType };

const kubeObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: texts.optional(),
    annotations: texts.optional(),
  }),
});
const placementBody = z.looseObject({
  spec: z.looseObject({
    locationSelectors: z.array(selector).optional(),
    locationExpression: z.string().optional(),
    rollout: z.looseObject({ strategy: z.string(), waves: z.array(wave).optional() }).optional(),
  }),
});
const ruleItem = z.looseObject({
  apiGroup: z.string().optional(),
  resources: z.array(z.string()).optional(),
  namespaces: z.array(z.string()).optional(),
  names: z.array(z.string()).optional(),
  labelSelectors: z.array(selector).optional(),
});
const bodies = {
  object: kubeObject,
  auxiliary: kubeObject.extend({ spec: bare }),
  placement: placementBody,
  rules: z.looseObject({
    associated: z.array(ruleItem.extend({ limit: z.number() })),
    upsync: z.array(ruleItem),
  }),
  inventory: z.looseObject({ syncTarget: kubeObject, locations: z.array(kubeObject) }),
} as const;

export function downFeedJudge(role: 'relay' | 'agent'): Judge {
  return (content) => judge(role, content);
}

function judge(role: 'relay' | 'agent', content: Content): Flaw | undefined {
  const { key } = content;
  const entry = parsedKey(key);
  if (typeof entry === 'string') return { reason: entry };
  const shape = entry && shapeOf(entry.type);
  if (!entry || !shape) return undefined;
  const attributes = checked('the attributes', shape, content.attributes);
  if (typeof attributes === 'string') return { reason: attributes, ...refsIn(content.attributes) };
  const bodyShape = bodyShapeOf(role, entry, attributes);
  const body = bodyShape && checked('the body', bodyShape, content.body);
  return typeof body === 'string' ? { reason: body, ...refsOf(attributes) } : undefined;
}

/** Undefined: a kind of entry that this version does not know. A text: what is wrong with it. */
function parsedKey(key: string): EntryKey | string | undefined {
  if (text(key).length > keyBytesMax) return `the key is longer than ${keyBytesMax} bytes`;
  if (/\p{Cc}/u.test(key)) return 'the key has a control character';
  const entry = parseEntryKey(key);
  if (!entry && isObjectEntry(key)) return 'the key names no object';
  if (entry && 'id' in entry) {
    if (text(entry.id).length > placementIdBytesMax) return `its placement is longer than ${placementIdBytesMax} bytes`;
    if (!/^[^/]+\/[^/]+$/.test(entry.id)) return 'the key names no placement';
  }
  return entry;
}

function shapeOf(type: EntryKey['type']): z.ZodType<object> | undefined {
  return Object.hasOwn(attributeShapes, type) ? attributeShapes[type as keyof typeof attributeShapes] : undefined;
}

function bodyShapeOf(role: 'relay' | 'agent', { type }: EntryKey, attributes: object): z.ZodType | undefined {
  if (type === 'rules') return bodies.rules;
  if (type === 'object') return role === 'agent' || isMadeHere(attributes) ? bodies.object : undefined;
  if (role === 'agent') return undefined;
  if (type === 'placement' || type === 'auxiliary' || type === 'inventory') return bodies[type];
  if (type === 'promotedCustomizer') return 'absent' in attributes ? undefined : bodies.auxiliary;
  if (type !== 'promoted') return undefined;
  const { promoted } = attributes as { promoted?: object };
  return promoted && isMadeHere(promoted) ? bodies.object : undefined;
}

/** The last relay before an agent makes what the agent gets: it parses the object. */
function isMadeHere(attributes: object): boolean {
  const { customizers, expand } = attributes as { customizers?: readonly string[]; expand?: true };
  return expand === true || (customizers?.length ?? 0) > 0;
}

/** The value, or what is wrong with it. */
function checked(what: string, shape: z.ZodType, bytes: Uint8Array): object | string {
  let value: unknown;
  try {
    value = JSON.parse(asText(bytes));
  } catch (error) {
    return `${what} are no JSON: ${describeError(error)}`.replace('body are', 'body is');
  }
  const wrong = beyondLimits(value);
  if (wrong !== undefined) return `${what}: ${wrong}`;
  const result = shape.safeParse(value);
  if (result.success) return value as object;
  const [issue] = result.error.issues;
  return `${what}: ${issue!.path.join('.') || 'as a whole'}: ${issue!.message}`;
}

function refsIn(bytes: Uint8Array): { readonly refs?: readonly string[] } {
  try {
    return refsOf(JSON.parse(asText(bytes)));
  } catch {
    return {};
  }
}

function refsOf(attributes: unknown): { readonly refs?: readonly string[] } {
  const found = z.object({ refs }).safeParse(attributes);
  return found.success ? found.data : {};
}
