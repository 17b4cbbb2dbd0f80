/**
 * What JSON may hold so that every program here keeps it as it is.
 *
 * What reads and writes objects goes down level by level, and somewhere below 2,000 a process has no stack left for that: where, depends on who asks. So there
 * is a bound that everybody has room for. And a number that is too large for a double would be written as null.
 */
import type { KubeObject } from './meta.ts';

/** Levels. A definition with the schema of a pod in it has some dozens. */
export const depthMax = 500;

/** Of the place that is too deep: the rest says nothing. */
const shownSteps = 5;

interface JsonFlaw {
  /** From the outermost to the innermost. */
  readonly steps: string[];
  readonly number?: number;
}

/** What is wrong with the value, in words that name the place and the remedy; undefined: nothing. */
export function beyondLimits(value: unknown): string | undefined {
  const flaw = flawOf(value, depthMax);
  if (!flaw) return undefined;
  const { steps, number } = flaw;
  if (number !== undefined)
    return `${steps.join('.')}: a number is too large, or none (${number}): put it in as a text`;
  const place = steps.slice(0, shownSteps).join('.');
  return `${place}...: it is nested more than ${depthMax} levels deep: make it flatter, or put it in as a text`;
}

/** The same of an object. Who manages its fields repeats their depth behind some levels of its own, and counts for nothing. */
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
