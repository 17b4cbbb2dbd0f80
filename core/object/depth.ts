/**
 * How deep JSON may be nested. What reads and writes objects goes down level by level, and somewhere below 2,000 a process has no stack left for that: where,
 * depends on who asks. So there is a bound that everybody has room for.
 */
import type { KubeObject } from './meta.ts';

/** Levels. A definition with the schema of a pod in it has some dozens. */
export const depthMax = 500;

/** Of the place that is too deep: the rest says nothing. */
const shownSteps = 5;

/** What is wrong with the value, in words that name the place and the remedy; undefined: nothing. */
export function tooDeep(value: unknown): string | undefined {
  const steps = deepest(value, depthMax);
  if (!steps) return undefined;
  const place = steps.slice(0, shownSteps).join('.');
  return `${place}...: it is nested more than ${depthMax} levels deep: make it flatter, or put it in as a text`;
}

/** The same of an object. Who manages its fields repeats their depth behind some levels of its own, and counts for nothing. */
export function objectTooDeep(object: KubeObject): string | undefined {
  const { managedFields: _fields, ...metadata } = object.metadata;
  return tooDeep({ ...object, metadata });
}

/** The steps to a value that has more than `left` levels. */
function deepest(value: unknown, left: number): string[] | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  if (left === 0) return [];
  for (const step in value) {
    const below = deepest((value as Record<string, unknown>)[step], left - 1);
    if (below) {
      below.unshift(step);
      return below;
    }
  }
  return undefined;
}
