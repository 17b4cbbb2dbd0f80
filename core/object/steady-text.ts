/**
 * Makes messages of a cluster steady. A message about a workload often has the name of one of its pods, an address, or a number that grows: the next look at
 * the same trouble would give another text. Each change of a text is a message up the whole tree, and equal troubles at many places must have equal texts.
 */

/** Limit for a message, in characters: three lines of a terminal. */
export const steadyTextMax = 300;

const rules: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // `pods "web-5d4f8-x2x7q" is forbidden`, `Pod "web-0" is invalid`
  [/\b([Pp]ods?) "[^"]*"/g, '$1'],
  // `back-off 2m40s restarting failed container=app pod=web-5d4f8-x2x7q_shop(e3…)`
  [/ pod=\S+/g, ''],
  [/\bback-off (\d+[hms])+ /g, 'back-off '],
  // `exceeded quota: compute, requested: cpu=1, used: cpu=4, limited: cpu=4`: what others use changes all the time.
  [/, used: .*?(?=, limited: )/g, ''],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '…'],
  // Addresses of pods, with the port that the client happened to get.
  [/\b\d{1,3}(\.\d{1,3}){3}(:\d+)?(->[\d.]+:\d+)?/g, '…'],
  [/ preemption: .*$/s, ''],
  [/\s+/g, ' '],
];

export function steadyText(text: string): string {
  const steady = rules.reduce((changed, [pattern, replacement]) => changed.replace(pattern, replacement), text).trim();
  return steady.length <= steadyTextMax ? steady : `${steady.slice(0, steadyTextMax - 1)}…`;
}
