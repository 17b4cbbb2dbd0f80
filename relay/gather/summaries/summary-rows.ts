/**
 * The rows of summaries: one row for each object and agent. A row is made from the object as it is in the agent's mailbox, the state that the agent reported,
 * and the agent's place in the inventory. Expressions see each value of a Secret as null, because a summary is in clear text wherever it is. Parsed objects and
 * places are kept: a thousand agents have the same object, and one agent has a thousand objects.
 */

import type { DestinationFacts } from '../../../core/customize/customizer.ts';
import type { ObjectAttributes } from '../../../core/entries/down-attributes.ts';
import type { StateAttributes } from '../../../core/entries/up-attributes.ts';
import type { Content, ContentReference, FeedRow as TableRow } from '../../../core/feed/feed.ts';
import { type CelValue, celValue } from '../../../core/match/cel/values.ts';
import { parseBody, stableStringify } from '../../../core/object/canonical.ts';
import { parseJson } from '../../../core/object/json.ts';
import { displayKey, type ObjectKey } from '../../../core/object/key.ts';
import type { KubeObject } from '../../../core/object/meta.ts';
import { withoutSecretValues } from '../../../core/object/secret-values.ts';
import { asText } from '../../../core/store/bytes.ts';
import type { Failure } from '../../../core/summary/partial.ts';
import type { SummaryRow } from '../../../core/summary/summarizer.ts';

/** The place of an agent, as expressions see it. Two places are equal if their texts are equal. */
export interface LocationFacts {
  readonly value: CelValue;
  readonly text: string;
}

export interface RowInput {
  readonly path: string;
  readonly object: ObjectKey;
  /** The object's row in the agent's mailbox. */
  readonly delivered: TableRow;
  readonly content: ReadObject;
  readonly place: LocationFacts;
  /** The state that the agent reported. */
  readonly state: Content;
  /** Objects that this node could not make for the agent. */
  readonly heldBack: readonly Failure[];
}

export interface EdgeObject {
  readonly path: string;
  readonly object: ObjectKey;
  readonly place: LocationFacts;
  /** The whole object, as its cluster has it. */
  readonly body: Uint8Array;
}

type FieldNames = ReadonlySet<string> | undefined;

/** Limit for the parsed objects that are kept: as many as are reported at the same time. */
const objectsMax = 1_000;

export class RowReader {
  readonly #objects = new Map<string, ReadObject>();

  row(input: RowInput): SummaryRow {
    const { path, object, delivered, content: read, place, state, heldBack } = input;
    const name = displayKey(object);
    const returned = memo((fields) => celValue(returnedOf(state, fields)));
    return {
      path,
      object: name,
      variable(variable, fields) {
        switch (variable) {
          case 'obj':
            return read.variable(fields);
          case 'returned':
            return returned(fields);
          case 'inventory':
            return place.value;
          case 'propagation':
            return propagationOf(
              state,
              delivered,
              read.generation,
              heldBack.find((failure) => failure.object === name),
            );
        }
      },
    };
  }

  /** Returns a row of an upsynced or associated object. The object was not sent to the agent, so `obj` is empty and there is nothing to propagate. */
  edgeObjectRow({ path, object, place, body }: EdgeObject): SummaryRow {
    const whole = withoutSecretValues(parseBody(body));
    return {
      path,
      object: displayKey(object),
      variable(variable, fields) {
        switch (variable) {
          case 'obj':
            return new Map();
          case 'returned':
            return celValue(pick(whole, fields));
          case 'inventory':
            return place.value;
          case 'propagation':
            return edgeObjectPropagation;
        }
      },
    };
  }

  /** Returns the object of a content. The content is read only if the object is not kept yet. */
  content(reference: ContentReference, readContent: (reference: ContentReference) => Content): ReadObject {
    const hash = Buffer.from(reference.hash).toString('latin1');
    const kept = this.#objects.get(hash);
    if (kept) return kept;
    const read = readObject(readContent(reference));
    if (this.#objects.size >= objectsMax) this.#objects.clear();
    this.#objects.set(hash, read);
    return read;
  }
}

/** An object as it was delivered. A field becomes a value of expressions when an expression asks for the field. */
export interface ReadObject {
  readonly generation: number;
  variable(fields: FieldNames): CelValue;
}

/** Returns the object, with the uid, creation time and generation that its origin knows. */
function readObject({ attributes, body }: Content): ReadObject {
  const { uid, created, generation } = JSON.parse(asText(attributes)) as ObjectAttributes;
  const object = parseBody(body);
  const metadata = { ...object.metadata, uid, creationTimestamp: created, generation };
  const whole = withoutSecretValues({ ...object, metadata });
  return { generation, variable: memo((fields) => celValue(pick(whole, fields))) };
}

/** Returns the named fields only: the others are not made into values of expressions. */
function pick(object: object, fields: FieldNames): object {
  return fields ? Object.fromEntries(Object.entries(object).filter(([name]) => fields.has(name))) : object;
}

function returnedOf({ body }: Content, fields: FieldNames): object {
  if (body.length === 0 || (fields && !fields.has('status'))) return {};
  return { status: parseJson(asText(body)) };
}

const edgeObjectPropagation = celValue({
  generation: 0,
  current: true,
  applied: true,
  available: true,
  failed: false,
  reason: '',
  message: '',
});

/** If the newest form of an object could not be made, the agent reports the state of the previous form. */
function propagationOf(
  { attributes }: Content,
  delivered: TableRow,
  generation: number,
  heldBack: Failure | undefined,
): CelValue {
  const state = JSON.parse(asText(attributes)) as StateAttributes;
  const { applied, available, failed = false } = state;
  const { reason = '', message = '' } = heldBack ?? state;
  const current = heldBack === undefined && state.desired === delivered.originRevision;
  return celValue({
    generation,
    current,
    applied,
    available,
    failed: failed || heldBack !== undefined,
    reason,
    message,
  });
}

/** `facts` describe the Location through which a placement reaches the agent. */
export function locationFactsOf(path: string, facts: DestinationFacts | undefined): LocationFacts {
  const location = (facts?.location ?? {}) as Partial<KubeObject>;
  const { metadata, spec = {} } = (facts?.syncTarget ?? {}) as Partial<KubeObject>;
  const { name = '', uid = '', labels = {}, annotations = {} } = metadata ?? {};
  const place = {
    name: location.metadata?.name ?? '',
    path,
    labels: location.metadata?.labels ?? {},
    annotations: location.metadata?.annotations ?? {},
    properties: facts?.properties ?? {},
    // The fields that change with every write of the status are left out.
    syncTarget: { metadata: { name, uid, labels, annotations }, spec },
  };
  return { value: celValue(place), text: stableStringify(place) };
}

function memo(make: (fields: FieldNames) => CelValue): (fields: FieldNames) => CelValue {
  const values = new Map<string, CelValue>();
  return (fields) => {
    const key = fields ? [...fields].join(' ') : '*';
    const kept = values.get(key);
    if (kept !== undefined) return kept;
    const value = make(fields);
    values.set(key, value);
    return value;
  };
}
