/** The accepted differences between the rules and a real API server, each with its reason. */

/** Texts that may differ. Both sides are compared without them. */
const texts: readonly (readonly [pattern: RegExp, shown: string, reason: string])[] = [
  [/(compilation failed): .*$/s, '$1', 'the parser of CEL has other words'],
  [/(cannot convert \S+ to) \w+\.\w+$/, '$1 string', 'the table of types does not have the names of Go for texts'],
  [/ of type \S+$/, '', 'the table of types does not have the names of Go for texts: v1.OperationType'],
  [
    /(Invalid value|Duplicate value|Unsupported value|Not found): ([{[][^…]*…|\{.*?\}|\[.*?\]|"(\\.|[^"\\])*"|[^:]*)(?=: |$)/s,
    '$1',
    'Kubernetes shows structs with the names of their Go fields',
  ],
  [/(data\[\.docker\w+\]: Invalid value).*$/, '$1', 'the parser of JSON has other words'],
  [/(is immutable after creation[^\n]*)\n.*$/s, '$1', 'Kubernetes adds a difference of Go values'],
  [/(pod updates may not change[^\n]*)\n.*$/s, '$1', 'Kubernetes adds a difference of Go values'],
];

/** Causes that only a real API server has, or only after its controllers have worked. */
const causes: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^status\.collisionCount: .*cannot be decremented$/, 'no controller has counted in a space'],
  [/^status\.\w+: .*cannot (decrease the|be removed for)/, 'no controller has worked on the Job'],
  [/^spec\.clusterIPs: Invalid value: failed to allocate/, 'a space has no network of Services'],
  [
    /^spec\.ports\[\d+\]\.nodePort: Duplicate value/,
    'a dry run of Kubernetes gives all ports the same port of the node',
  ],
];

// Answers about something else than the object are left out: 403 (admission by what else the cluster has, such as quotas and PriorityClasses) and 409.

export function masked(cause: string): string {
  return texts.reduce((text, [pattern, shown]) => text.replace(pattern, shown), cause);
}

export function onlyReal(cause: string): boolean {
  return causes.some(([pattern]) => pattern.test(cause));
}

/** Answers that only the rules give. */
const answers: readonly (readonly [type: string, pattern: RegExp, reason: string])[] = [
  [
    'application/strategic-merge-patch+json',
    /cannot convert int64 to int32$/,
    'Kubernetes stores the lower 32 bits of the integer',
  ],
  [
    'application/strategic-merge-patch+json',
    /does not contain declared merge key/,
    'Kubernetes calls this mistake of the patch an internal error',
  ],
];

export function isAccepted({ type }: { readonly type: string }, own: readonly string[]): boolean {
  return answers.some(([of, pattern]) => of === type && own.some((line) => pattern.test(line)));
}
