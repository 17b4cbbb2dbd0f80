/**
 * A container's list of variables with each name once. The kubelet reads the list in order: the last definition of a name is the value, and `$(NAME)` in a
 * value means the last definition before it (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
 */
import type { Values } from './pod-template.ts';

export type EnvOnce =
  | { readonly env: Values[] }
  /** The list can't be written with each name once. */
  | { readonly why: string };

/** Maximal characters of one value. Linux has this limit for one variable of a process. Nested references could make a value many times as long. */
const valueCharactersMax = 128 * 1024;

/**
 * Leaves out each definition that a later one hides. If a value between the two refers to the hidden definition, the text of the hidden definition takes the
 * place of the reference.
 */
export function envOnce(env: readonly Values[]): EnvOnce {
  const lastIndexOf = new Map(env.map(({ name }, index) => [name, index]));
  const hidden = new Map<unknown, Values>();
  const kept: Values[] = [];
  for (const [index, item] of env.entries()) {
    const resolved = withoutReferences(item, hidden);
    if ('why' in resolved) return resolved;
    if (lastIndexOf.get(item.name) !== index) {
      hidden.set(item.name, resolved.item);
    } else {
      hidden.delete(item.name);
      kept.push(resolved.item);
    }
  }
  return { env: kept };
}

/** `$$` is an escaped dollar sign. */
const reference = /\$\$|\$\(([^)]*)\)/g;

function withoutReferences(item: Values, hidden: ReadonlyMap<unknown, Values>): { item: Values } | { why: string } {
  const { name, value } = item;
  if (typeof value !== 'string' || hidden.size === 0) return { item };
  const from = [...value.matchAll(reference)].find(([, of]) => hidden.get(of)?.valueFrom !== undefined);
  if (from) {
    const why = `${String(name)} refers to ${from[0]}, whose value comes from elsewhere (valueFrom) and which a later item replaces`;
    return { why: `${why}: give the two definitions of ${from[1]} different names` };
  }
  const text = value.replaceAll(reference, (whole, of) =>
    hidden.has(of) ? String(hidden.get(of)?.value ?? '') : whole,
  );
  if (text.length > valueCharactersMax) {
    return {
      why: `${String(name)} would have more than ${valueCharactersMax} characters: give the definitions different names`,
    };
  }
  return { item: text === value ? item : { ...item, value: text } };
}
