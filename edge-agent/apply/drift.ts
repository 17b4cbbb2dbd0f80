/** Describes for people which fields of an object differ from the applied object. */

import { type FieldSet, isEmptyFieldSet } from '../../core/apiserver/managed-fields/field-set.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { jsonText, parseJson } from '../../core/object/json.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { compareText } from '../../core/object/text-order.ts';
import { isRecord } from '../../core/runtime/is-record.ts';
import { agentFieldManager } from '../cluster/mark.ts';

const namedMax = 5;
const valueCharsMax = 60;

/**
 * Paths of the values of a Secret. The message names the fields that differ and leaves out their values, because people read the message far from the
 * cluster.
 */
const secret = /^(data|stringData)\./;

interface DriftFindings {
  readonly differences: string[];
  readonly isSecret: boolean;
}

/**
 * For example `spec.replicas is 1 and was applied as 3`. Empty: the object is as it was applied. `wanted` and `live` are both answers of the cluster, so both
 * have the same defaults and the same form of quantities. `owned` names the fields to compare, and the fields to compare as a whole.
 */
export function driftMessage(owned: FieldSet, wanted: unknown, live: unknown): string {
  const differences: string[] = [];
  compare(owned, wanted, live, '', { differences, isSecret: isRecord(wanted) && wanted.kind === 'Secret' });
  const more = differences.length > namedMax ? `; and ${differences.length - namedMax} more` : '';
  return `${differences.slice(0, namedMax).join('; ')}${more}`;
}

/**
 * The message about an object that the agent corrected again and again. `live`: the object before the correction. Undefined: somebody had deleted it. Returns
 * undefined if the correction changed no value.
 */
export function fieldConflictMessage(
  owned: FieldSet,
  answer: KubeObject,
  live: KubeObject | undefined,
): string | undefined {
  const begun = 'somebody changes it again and again, and the agent corrects it each time';
  const remedy = 'if a field belongs to the cluster, name it in spec.drift.ignoredFields of the EdgePlacement';
  if (!live) return 'somebody deletes it again and again, and the agent creates it again each time';
  const difference = driftMessage(owned, answer, live);
  if (difference === '') return undefined;
  const writer = lastWriter(live);
  const by = writer === undefined ? '' : `, last written by ${writer.slice(0, valueCharsMax)}`;
  return `${begun}: ${difference}${by}; ${remedy}`;
}

/** The newest writer of the object. Writes of this agent and writes of the status do not count. */
function lastWriter({ metadata }: KubeObject): string | undefined {
  const others = (metadata.managedFields ?? []).filter(
    ({ manager, subresource }) => manager !== agentFieldManager && subresource !== 'status',
  );
  return others.sort((a, b) => compareText(b.time ?? '', a.time ?? ''))[0]?.manager;
}

function compare(owned: FieldSet, wanted: unknown, live: unknown, path: string, found: DriftFindings): void {
  if (isEmptyFieldSet(owned) || wanted === undefined || live === undefined)
    return compareWhole(wanted, live, path, found);
  for (const [element, below] of Object.entries(owned)) {
    if (element.startsWith('f:')) {
      const name = element.slice(2);
      compare(below, fieldOf(wanted, name), fieldOf(live, name), joined(path, name), found);
    } else if (element !== '.' && Array.isArray(wanted) && Array.isArray(live)) {
      const [at, liveAt] = [indexOf(wanted, element), indexOf(live, element)];
      compare(below, wanted[at], live[liveAt], `${path}[${liveAt < 0 ? at : liveAt}]`, found);
    }
  }
}

function compareWhole(wanted: unknown, live: unknown, path: string, found: DriftFindings): void {
  if (isRecord(wanted) && isRecord(live)) {
    const names = new Set([...Object.keys(wanted), ...Object.keys(live)]);
    for (const name of names) compareWhole(wanted[name], live[name], joined(path, name), found);
    return;
  }
  if (Array.isArray(wanted) && Array.isArray(live) && wanted.length === live.length) {
    for (const [i, item] of wanted.entries()) compareWhole(item, live[i], `${path}[${i}]`, found);
    return;
  }
  if (jsonText(wanted) === jsonText(live)) return;
  const applied = wanted === undefined ? 'was not applied' : `was applied as ${shown(wanted)}`;
  if (found.isSecret && secret.test(`${path}.`)) found.differences.push(`${path} is not as it was applied`);
  else found.differences.push(`${path} is ${shown(live)} and ${applied}`);
}

/** The index of the list item that a path element names (core/apiserver/managed-fields/field-set.ts). -1: the list has no such item. */
function indexOf(list: readonly unknown[], element: string): number {
  const named: unknown = parseJson(element.slice(2));
  if (element.startsWith('i:')) return Number(named);
  if (element.startsWith('v:') || !isRecord(named)) {
    const text = stableStringify(named);
    return list.findIndex((item) => stableStringify(item) === text);
  }
  const keys = Object.entries(named);
  return list.findIndex((item) => isRecord(item) && keys.every(([name, value]) => item[name] === value));
}

function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function shown(value: unknown): string {
  const text = jsonText(value) ?? 'missing';
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)}…` : text;
}
