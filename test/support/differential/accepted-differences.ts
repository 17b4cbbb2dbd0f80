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
  [
    /(the server rejected our request due to an error in our request).*$/s,
    '$1',
    'Kubernetes does not say which operation of a JSON patch fails',
  ],
  [/(data\[\.docker\w+\]: Invalid value).*$/, '$1', 'the parser of JSON has other words'],
  [
    /\([-\w]*\/[-.\w]*(; [\w./]+, Kind=)/,
    '($1',
    'an apply gets the namespace and the name of its URL before it is checked',
  ],
  [/(the server could not find the requested resource).*$/s, '$1', 'the answer also says what is not there'],
  [/(list element types are not identical).*$/s, '$1', 'Kubernetes shows both lists, and not their name'],
  [/(invalid patch format of retainKeys).*$/s, '$1', 'the answer also names the key'],
  [/(is immutable after creation[^\n]*)\n.*$/s, '$1', 'Kubernetes adds a difference of Go values'],
  [/(pod updates may not change[^\n]*)\n.*$/s, '$1', 'Kubernetes adds a difference of Go values'],
];

/** Causes that only a real API server has, or only after its controllers have worked. */
const causes: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^status\.collisionCount: .*cannot be decremented$/, 'no controller has counted in a space'],
  [/^spec\.clusterIPs: Invalid value: (\[.*?\]: )?failed to allocate/, 'a space has no network of Services'],
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

interface AcceptedAnswer {
  /** The media types of the requests. */
  readonly of: RegExp;
  /** A line of the answer of the rules, and one of Kubernetes. */
  readonly own: RegExp;
  readonly real: RegExp;
  readonly reason: string;
}

/** Answers of the rules that Kubernetes gives in another way. */
const answers: readonly AcceptedAnswer[] = [
  {
    of: /strategic/,
    own: /cannot convert int64 to int32$/,
    real: /^(200|422 Invalid)$/,
    reason: 'Kubernetes stores the lower 32 bits of the integer',
  },
  {
    of: /apply/,
    own: /cannot be handled as a /,
    real: /^(200|409 Conflict|422 Invalid|500)$/,
    reason: 'Kubernetes calls values of wrong types in an apply internal errors, and some of them conflicts',
  },
  {
    of: /json-patch/,
    own: /^error decoding patch: json: cannot unmarshal \w+ into Go (struct field jsonPatchOp|value)/,
    real: /^(422 Invalid|400 BadRequest)$/,
    reason: 'with fieldValidation=Ignore, Kubernetes reads operations with another decoder',
  },
  {
    of: /apply/,
    own: /^the name(space)? of the (provided )?object /,
    real: /^(409 Conflict|500)$/,
    reason: 'Kubernetes looks at the name of an applied object after its conflicts',
  },
  {
    of: /apply/,
    own: /^failed to create typed patch object .*field not declared in schema/s,
    real: /^failed to create typed patch object .*field not declared in schema/s,
    reason: 'Kubernetes visits the fields in any order, and ends at one that it does not know',
  },
  {
    of: /json-patch/,
    own: /was undeterminable: name must be provided$/,
    real: /unknown field \\?"/,
    reason: 'Kubernetes warns about all fields of an object that has lost its version',
  },
  {
    of: /json|apply/,
    own: /^FieldValueDuplicate spec\.ports\[\d+\]\.nodePort: /,
    real: /^duplicate nodePort: /,
    reason: 'Kubernetes calls two ports of a Service with one port of the node an internal error',
  },
];

/** Unknown fields have an order, and count on their own. */
const firstMistake = /^FieldValueInvalid patch: Invalid value: (?!strict decoding error)/;

/** `own` and `real` differ. */
export function isAccepted(
  { type }: { readonly type: string },
  own: readonly string[],
  real: readonly string[],
): boolean {
  // Kubernetes reads the fields of a patched object in another order, and names only the first mistake.
  if (own[0] === real[0] && own.some((line) => firstMistake.test(line)) && real.some((line) => firstMistake.test(line)))
    return true;
  return answers.some(
    (one) => one.of.test(type) && own.some((line) => one.own.test(line)) && real.some((line) => one.real.test(line)),
  );
}

/** Bad requests that get another status or reason, each with its reason. */
export const acceptedBodies: Readonly<Record<string, string>> = {
  'a hundred thousand keys': 'a body may have 50,000 fields, and an API server needs half a minute for twice as many',
  '2 MB of text': 'a body may have as many bytes as an object',
  '50 MB of text': 'an API server ends the connection, and no client reads its answer',
  '50 MB of spaces': 'an API server ends the connection, and no client reads its answer',
  'a key with two values in YAML': 'Kubernetes takes the last one, and warns',
  'two documents of YAML': 'Kubernetes drops the second document without a word',
  'binary YAML': 'Kubernetes decodes the bytes into a text',
  'an encoded percent': 'Kubernetes checks the name before it looks for the object',
  'a broken escape': 'an API server ends the connection',
  'a zero byte': 'no name has one',
  'a way up behind the name': 'the server takes dot segments out of a URL before it asks who may do what',
  'a dot as name': 'the server takes dot segments out of a URL before it asks who may do what',
  'two slashes': 'two slashes are one',
  'a name of 10 KB': 'the store takes no such name, and the answer says so',
  'a broken escape in the query': 'Kubernetes drops the parameter, and would list everything',
  'a deletion with a body that is none': 'Kubernetes calls the body an internal error',
  'a deletion with a body of another kind': 'Kubernetes calls the body an internal error',
  'a deletion with a body that is a list': 'Kubernetes calls the body an internal error',
};

/** Mistakes of people that get another answer, each with its reason. */
export const acceptedMistakes: Readonly<Record<string, string>> = {
  tabs: 'the parser of YAML has other words',
  'two documents': 'Kubernetes drops the second document without a word',
  'an old version in a patch': 'Kubernetes calls a version that is no number an internal error',
  'a patch of a type that nobody knows': 'Kubernetes answers with a text that is no Status',
  'the address of a Service': 'a space has no network of Services, so the first address is not yet set',
  'a smaller claim': 'a space has no volumes to which claims are bound',
  'a new object with a version': 'Kubernetes says so only when it stores the object, and not in a dry run',
  'a name to be generated that is wrong': 'the end of the name is made by chance',
  'a directive that is a number': 'Kubernetes shows the number as a mistake of its own format',
  'an order that is a text': 'Kubernetes names types of Go',
  'a list of deletions that is a text': 'Kubernetes ignores the list, and nothing is deleted',
  'a directive that merges': 'the pages of Kubernetes name the directive, although its API server has none',
};
