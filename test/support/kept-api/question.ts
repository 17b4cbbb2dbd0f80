/** Parses the arguments of `kubectl get` that name objects. */

export interface Question {
  /** The resource as people write it: a plural, a singular, a short name or a kind, perhaps with its group after a dot. */
  readonly resource: string;
  /** Absent: the question is about a list. */
  readonly name?: string;
  readonly namespace: string;
  readonly allNamespaces: boolean;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Parses the arguments. Throws if they have a meaning that `Question` can't express: then the test has to run kubectl. */
export function parseQuestion(args: readonly string[]): Question {
  const names: string[] = [];
  let namespace = 'default';
  let allNamespaces = false;
  let labelSelector: string | undefined;
  let fieldSelector: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === '-n') namespace = args[++at]!;
    else if (arg === '-A') allNamespaces = true;
    else if (arg === '-l') labelSelector = args[++at]!;
    else if (arg.startsWith('--field-selector=')) fieldSelector = arg.slice('--field-selector='.length);
    else if (arg.startsWith('-')) throw new Error(`"${arg}" of kubectl get ${args.join(' ')} is not understood here`);
    else names.push(...arg.split('/'));
  }
  const [resource, name, ...more] = names;
  if (!resource || resource.includes(',') || more.length > 0) {
    throw new Error(`kubectl get ${args.join(' ')} names not one resource and one object at the most`);
  }
  return {
    resource,
    namespace,
    allNamespaces,
    ...(name === undefined ? {} : { name }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}
