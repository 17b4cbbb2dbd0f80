/** The values of the fields of a status partial: read at one destination, merged, and changed when a relay is no longer connected. */

import { parseQuantity } from '../match/cel/base/quantity.ts';
import { stableStringify } from '../object/canonical.ts';
import { compareText } from '../object/text-order.ts';
import { type FieldRule, type StatusRules, unionMax } from './status-rules.ts';

/** `null`: at least one destination gives no value. A list has items as canonical JSON, sorted. */
export type FieldValue = number | string | null | readonly string[];
export type FieldValues = Readonly<Record<string, FieldValue>>;

/** Limit for one value that is a text, and for one item of a list. An address or a revision has a tenth of it. */
export const fieldTextMax = 1024;
const numberMax = 2 ** 31 - 1;

export interface FieldsInput {
  readonly status: Readonly<Record<string, unknown>>;
  /** The object is available at this destination. */
  readonly isAvailable: boolean;
}

/** The fields of one destination that is connected and reports a status. */
export function fieldsAt(rules: StatusRules, { status, isAvailable }: FieldsInput): FieldValues {
  const fields: Record<string, FieldValue> = {};
  const wantedPath = Object.keys(rules.fields).find((path) => rules.fields[path]!.rule === 'wanted');
  const wanted = wantedPath === undefined ? 0 : (numberAt(status, wantedPath) ?? 0);
  for (const [path, rule] of Object.entries(rules.fields)) {
    const read = valueAt(status, rule.rule === 'told' ? rule.of : path);
    const value = fieldAt(rule, read, isAvailable, Math.max(1, wanted));
    if (value !== undefined) fields[path] = value;
  }
  return fields;
}

function fieldAt(rule: FieldRule, value: unknown, isAvailable: boolean, wanted: number): FieldValue | undefined {
  switch (rule.rule) {
    case 'replicas':
      // At an available destination, the number is that of the space's object (aggregated-status.ts).
      return isAvailable ? undefined : (whole(value) ?? 0);
    case 'wanted':
      return isAvailable ? (whole(value) ?? 0) : wanted;
    case 'scheduled':
      return isAvailable ? (whole(value) ?? 0) : Math.min(whole(value) ?? 0, wanted - 1);
    case 'sum':
    case 'told':
    case 'least':
    case 'most':
      return whole(value) ?? 0;
    case 'phase':
      return typeof value === 'string' && rule.worstFirst.includes(value) ? value : rule.otherwise;
    case 'union':
      // A cluster without an ingress controller never gives an address. It does not hide the addresses of the others.
      return isAvailable || (Array.isArray(value) && value.length > 0) ? listOf(value) : null;
    case 'quantity':
      return typeof value === 'string' && parseQuantity(value) ? value : null;
    case 'first':
    case 'last':
      return typeof value === 'string' && value.length <= fieldTextMax ? value : null;
    case 'same': {
      const json = value === undefined ? '' : stableStringify(value);
      return json !== '' && json.length <= fieldTextMax ? json : null;
    }
  }
}

function listOf(items: unknown): readonly string[] {
  if (!Array.isArray(items)) return [];
  const texts = items.map((item) => stableStringify(item)).filter((text) => text.length <= fieldTextMax);
  return [...new Set(texts)].sort(compareText).slice(0, unionMax);
}

/**
 * The fields of destinations that are not connected: `fields` are those that they had. The numbers of destinations without a report are those of
 * `destinations` unknown places.
 */
export function fieldsAway(rules: StatusRules, fields: FieldValues, destinations: number): FieldValues {
  // How an object ended does not change while its destination is not connected.
  if (rules.conditions === 'ended' && Object.keys(fields).length > 0) return fields;
  return fieldsOfFormer(rules, fields, destinations);
}

/** The fields of destinations about whose present form of the object nothing is known. `fields` are those of a former form. */
export function fieldsOfFormer(rules: StatusRules, fields: FieldValues, destinations: number): FieldValues {
  const away: Record<string, FieldValue> = {};
  for (const [path, rule] of Object.entries(rules.fields)) {
    const value = awayValue(rule, fields[path], destinations);
    if (value !== undefined) away[path] = value;
  }
  return away;
}

function awayValue(rule: FieldRule, value: FieldValue | undefined, destinations: number): FieldValue | undefined {
  switch (rule.rule) {
    case 'wanted':
      return Math.max(destinations, typeof value === 'number' ? value : 0);
    case 'phase':
      return rule.otherwise;
    // Addresses rarely change. Without them, a short break of a connection would take the service off the net.
    case 'union':
      return value ?? null;
    case 'same':
      return undefined;
    case 'first':
    case 'last':
    case 'quantity':
      return null;
    default:
      return 0;
  }
}

/** Merges two sets of fields. A field that one side lacks does not change the other side's value. */
export function mergeFields(rules: StatusRules, a: FieldValues, b: FieldValues): FieldValues {
  const merged: Record<string, FieldValue> = {};
  for (const [path, rule] of Object.entries(rules.fields)) {
    const [x, y] = [a[path], b[path]];
    const value = x === undefined ? y : y === undefined ? x : mergeValues(rule, x, y);
    if (value !== undefined) merged[path] = value;
  }
  return merged;
}

function mergeValues(rule: FieldRule, a: FieldValue, b: FieldValue): FieldValue {
  if (a === null || b === null) return null;
  switch (rule.rule) {
    case 'replicas':
      return rule.bound === 'most' ? Math.max(Number(a), Number(b)) : Math.min(Number(a), Number(b));
    case 'most':
      return Math.max(Number(a), Number(b));
    case 'least':
      return Math.min(Number(a), Number(b));
    case 'sum':
    case 'told':
    case 'wanted':
    case 'scheduled':
      return Number(a) + Number(b);
    case 'phase':
      return rule.worstFirst.indexOf(String(a)) <= rule.worstFirst.indexOf(String(b)) ? a : b;
    case 'first':
      return compareText(String(a), String(b)) <= 0 ? a : b;
    case 'last':
      return compareText(String(a), String(b)) >= 0 ? a : b;
    case 'quantity':
      return compareQuantities(String(a), String(b)) <= 0 ? a : b;
    case 'same':
      return a === b ? a : null;
    case 'union':
      return [...new Set([...listed(a), ...listed(b)])].sort(compareText).slice(0, unionMax);
  }
}

function compareQuantities(a: string, b: string): number {
  const [x, y] = [parseQuantity(a)?.nanos ?? 0n, parseQuantity(b)?.nanos ?? 0n];
  return x === y ? compareText(a, b) : x < y ? -1 : 1;
}

function listed(value: FieldValue): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

export function numberAt(status: Readonly<Record<string, unknown>>, path: string): number | undefined {
  return whole(valueAt(status, path));
}

function valueAt(status: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = status;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

function whole(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= numberMax ? value : undefined;
}
