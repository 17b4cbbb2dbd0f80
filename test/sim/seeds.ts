/** Derives numbers from numbers and names: independent random streams of one seed, so that leaving one step out of a run does not move any other. */
export function seedOf(seed: number, ...parts: readonly (string | number)[]): number {
  // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const character of parts.join('\u0000')) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
  }
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}
