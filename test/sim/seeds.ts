/** Derives numbers from a seed and names. So one seed has independent random streams, and a step that is left out of a run does not change any other step. */
export function seedOf(seed: number, ...parts: readonly (string | number)[]): number {
  // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const character of parts.join('\u0000')) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
  }
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}
