/**
 * Limits of JSON values. Within the limits, every program of the mesh keeps a value unchanged.
 *
 * Depth: code that reads and writes objects recurses level by level. Its stack overflows at some depth of less than 2,000 levels, which depends on the
 * caller. So one bound leaves enough room for every caller. Numbers: a number that is too large for a double would be written as null.
 */
import type { KubeObject } from './meta.ts';

/** Levels of nesting. A CustomResourceDefinition that contains the schema of a pod has a few dozen. */
export const depthMax = 500;

/** Number of steps of a path that a message shows when the place is nested too deeply. More steps would not help the reader. */
const shownSteps = 5;

interface JsonFlaw {
  /** The path to the mistake, the outermost field first. */
  readonly steps: string[];
  readonly number?: number;
}

/** The first mistake in the value, with its place and the remedy. Undefined if there is none. */
export function beyondLimits(value: unknown): string | undefined {
  const flaw = flawOf(value, depthMax);
  if (!flaw) return undefined;
  const { steps, number } = flaw;
  if (number !== undefined) return `${steps.join('.')}: JSON can not hold the number ${number}: write it as a string`;
  const place = steps.slice(0, shownSteps).join('.');
  return `${place}...: it is nested more than ${depthMax} levels deep: make it flatter, or write it as a string`;
}

/** Checks an object like `beyondLimits`, but leaves out managedFields. The managedFields repeat the nesting of the object, and add some levels. */
export function objectBeyondLimits(object: KubeObject): string | undefined {
  const { managedFields: _fields, ...metadata } = object.metadata;
  return beyondLimits({ ...object, metadata });
}

function flawOf(value: unknown, levels: number): JsonFlaw | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { steps: [], number: value };
  if (value === null || typeof value !== 'object') return undefined;
  if (levels === 0) return { steps: [] };
  for (const step in value) {
    const flaw = flawOf((value as Record<string, unknown>)[step], levels - 1);
    if (flaw) {
      flaw.steps.unshift(step);
      return flaw;
    }
  }
  return undefined;
}
