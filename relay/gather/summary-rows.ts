/**
 * The rows of summaries: one for each object and agent, from the object as it lies in the agent's mailbox, the state that the agent reported of it, and the
 * agent's place in the inventory. What is read of an object or a place is kept, since a thousand agents have the same object and one agent a thousand.
 */
import type { Content, Row as TableRow } from '../../core/feed/feed.ts';
import { type CelValue, celValue } from '../../core/match/cel/values.ts';
import { parseBody, stableStringify } from '../../core/object/canonical.ts';
import { formatGroupResource, type ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { asText } from '../../core/store/bytes.ts';
import type { Row } from '../../core/summary/summarizer.ts';
import type { ObjectAttributes, StateAttributes } from '../../core/wire/entries.ts';
import type { InventoryLocation } from '../schedule/inventory.ts';

/** Where an agent stands, as expressions see it; the same text is the same place. */
export interface Place {
  readonly value: CelValue;
  readonly text: string;
}

export interface RowInput {
  readonly path: string;
  readonly object: ObjectKey;
  /** The object's row in the agent's mailbox. */
  readonly delivered: TableRow;
  readonly content: Content;
  readonly place: Place;
  /** The state that the agent reported. */
  readonly state: Content;
}

type Fields = ReadonlySet<string> | undefined;

/** Objects of which something is kept: those that are reported at the same time. */
const objectsMax = 1_000;

export class RowReader {
  readonly #objects = new Map<string, ReadObject>();

  row(input: RowInput): Row {
    const { path, object, delivered, content, place, state } = input;
    const read = this.#object(delivered, content);
    const returned = memo((fields) => celValue(returnedOf(state, fields)));
    return {
      path,
      object: `${formatGroupResource(object)} ${object.namespace === '' ? '' : `${object.namespace}/`}${object.name}`,
      variable(name, fields) {
        switch (name) {
          case 'obj':
            return read.variable(fields);
          case 'returned':
            return returned(fields);
          case 'inventory':
            return place.value;
          case 'propagation':
            return propagationOf(state, delivered, read.generation);
        }
      },
    };
  }

  #object({ content: reference }: TableRow, content: Content): ReadObject {
    const hash = Buffer.from(reference!.hash).toString('latin1');
    const known = this.#objects.get(hash);
    if (known) return known;
    const read = readObject(content);
    if (this.#objects.size >= objectsMax) this.#objects.clear();
    this.#objects.set(hash, read);
    return read;
  }
}

interface ReadObject {
  readonly generation: number;
  variable(fields: Fields): CelValue;
}

/** The object with what its origin knows of it. */
function readObject({ attributes, body }: Content): ReadObject {
  const { uid, created, generation } = JSON.parse(asText(attributes)) as ObjectAttributes;
  const object = parseBody(body);
  const whole = { ...object, metadata: { ...object.metadata, uid, creationTimestamp: created, generation } };
  return { generation, variable: memo((fields) => celValue(pick(whole, fields))) };
}

/** Only what is named is made into values of expressions. */
function pick(object: object, fields: Fields): object {
  return fields ? Object.fromEntries(Object.entries(object).filter(([name]) => fields.has(name))) : object;
}

function returnedOf({ body }: Content, fields: Fields): object {
  if (body.length === 0 || (fields && !fields.has('status'))) return {};
  return { status: JSON.parse(asText(body)) as unknown };
}

function propagationOf({ attributes }: Content, delivered: TableRow, generation: number): CelValue {
  const state = JSON.parse(asText(attributes)) as StateAttributes;
  const { applied, available, failed = false, reason = '', message = '' } = state;
  const current = state.desired === delivered.originRevision;
  return celValue({ generation, current, applied, available, failed, reason, message });
}

export function placeOf(path: string, location: InventoryLocation | undefined): Place {
  const { metadata, spec } = (location?.syncTarget ?? {}) as Partial<KubeObject>;
  const properties = (spec as { properties?: Record<string, string> } | undefined)?.properties ?? {};
  const { name = '', uid = '', labels = {}, annotations = {} } = metadata ?? {};
  const place = {
    name: location?.name ?? '',
    path,
    labels: location?.labels ?? {},
    annotations: location?.object.metadata.annotations ?? {},
    properties,
    // Without what every write of its status changes.
    syncTarget: { metadata: { name, uid, labels, annotations }, spec: spec ?? {} },
  };
  return { value: celValue(place), text: stableStringify(place) };
}

function memo(make: (fields: Fields) => CelValue): (fields: Fields) => CelValue {
  const made = new Map<string, CelValue>();
  return (fields) => {
    const key = fields ? [...fields].join(' ') : '*';
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(fields);
    made.set(key, value);
    return value;
  };
}
