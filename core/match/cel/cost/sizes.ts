/** Sizes in cost estimates: characters of texts, items of lists, entries of maps. A size without a known bound is infinite. */

export interface Size {
  readonly min: number;
  readonly max: number;
}

/** The sizes of the keys and values of a map, or of the items of a list (`value`). */
export interface EntrySizes {
  readonly container: 'list' | 'map';
  readonly key: Size;
  readonly value: Size;
}

export const unknownSize: Size = { min: 0, max: Number.POSITIVE_INFINITY };

export function fixedSize(size: number): Size {
  return { min: size, max: size };
}

export function sizeSum(a: Size, b: Size): Size {
  return { min: a.min + b.min, max: a.max + b.max };
}

export function sizeProduct(a: Size, b: Size): Size {
  return { min: times(a.min, b.min), max: times(a.max, b.max) };
}

export function unionOf(a: Size, b: Size): Size {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

export function unionOfEntries(a: EntrySizes | undefined, b: EntrySizes | undefined): EntrySizes | undefined {
  return a && b && { container: a.container, key: unionOf(a.key, b.key), value: unionOf(a.value, b.value) };
}

/** Zero times anything is zero. */
export function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b;
}

/** The cost of looking at each character once. */
export function traversal(size: Size, factor = 1): number {
  return Math.ceil(times(size.max, 0.1 * factor));
}
