/**
 * A question about the copies of one source below a node. A client's request becomes a question, and a node passes the question on to its child relays.
 * docs/decisions/0051-fleet.md says why the questions go from node to node.
 */
import * as z from 'zod';
import type { Kind, UserInfo } from '../../core/apiserver/space.ts';
import { decodeChecked } from '../../core/object/checked.ts';

/** Longer than any path, key or JSON path. */
const text = z.string().max(4_096);
/** As long as the URL of a request may be. */
const selector = z.string().max(16_384);

const column = z.object({
  name: text,
  type: text,
  format: text.exactOptional(),
  description: text.exactOptional(),
  priority: z.number().int(),
  jsonPath: text,
});

/**
 * The kind in a question. The node that the client asks names the columns and the selectable fields: a node below may not know the definition of the kind, and
 * all rows of one table need the same columns.
 */
const askedKind = z.object({
  group: text,
  resource: text,
  version: text,
  columns: z.array(column),
  selectable: z.array(text),
});
export type AskedKind = z.infer<typeof askedKind>;

const form = z.object({
  as: z.enum(['object', 'Table', 'PartialObjectMetadata']),
  version: z.enum(['v1', 'v1beta1']),
  includeObject: z.enum(['None', 'Metadata', 'Object']),
});
export type AnswerForm = z.infer<typeof form>;

/** The place of a copy in a list. Lists are in the order of `path`, then `namespace`, then `name`. Replicas are named in `path`: `eu~1:paris:store-17`. */
const place = z.object({ path: text, namespace: text, name: text });
export type Place = z.infer<typeof place>;

const which = {
  source: text,
  kind: askedKind,
  /** Empty: all namespaces. */
  namespace: text,
  /** Only copies with this name. */
  name: text.exactOptional(),
  labelSelector: selector,
  fieldSelector: selector,
  /** Only copies at or below this path. The node that should have the path answers NotFound if there is no such node. */
  at: text.exactOptional(),
  /** Only copies at these paths. Absent: all copies. */
  paths: z.array(text).max(1_000).exactOptional(),
  form,
  /** Time in ms without a line after which the asking node gives up. */
  patienceMs: z.number().min(1),
};

const list = z.object({
  type: z.literal('list'),
  ...which,
  /** Maximal number of copies; 0: no limit. */
  limit: z.number().int().min(0),
  /** The position that the answering node gave to the list. Absent: a list begins. */
  position: text.exactOptional(),
  /** The list continues directly after this place. */
  after: place.exactOptional(),
});
export type ListQuestion = z.infer<typeof list>;

const watch = z.object({
  type: z.literal('watch'),
  ...which,
  /** The position after which changes are asked for. Absent: the present copies come first, each as ADDED. */
  position: text.exactOptional(),
});
export type WatchQuestion = z.infer<typeof watch>;

/** Which kinds of objects do the clusters have that no definition names here? */
const kinds = z.object({ type: z.literal('kinds'), source: text, patienceMs: z.number().min(1) });
export type KindsQuestion = z.infer<typeof kinds>;

const question = z.discriminatedUnion('type', [list, watch, kinds]);
export type FleetQuestion = z.infer<typeof question>;
export type CopiesQuestion = ListQuestion | WatchQuestion;

/** Throws BadRequest or Protocol for a question that another node wrote and this node can't read. */
export function decodeQuestion(bytes: Uint8Array): FleetQuestion {
  return decodeChecked('a question about a fleet', question, bytes);
}

/** Each hop keeps a fifth of the time, so that the node next to a silent node is the first to report it. */
export function patienceBelow(patienceMs: number): number {
  return Math.max(1, Math.floor(patienceMs * 0.8));
}

/** The person in whose name a question goes through the tree. Each node on the way applies its own rules to this user. */
export interface Asker extends UserInfo {
  /** The path of the node that has authenticated the user. Absent: this node has. */
  readonly voucher?: string;
}

export function askedKindOf(kind: Kind, version: string): AskedKind {
  const { group, resource } = kind;
  return {
    group,
    resource,
    version,
    columns: kind.columns(version).map(({ name, type, priority, jsonPath }) => ({ name, type, priority, jsonPath })),
    selectable: [...kind.selectableFields(version)],
  };
}
