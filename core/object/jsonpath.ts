/** The JSONPath syntax of printer columns: names with dots, `[n]`, `[*]`, `['key']`, and filters of the form `[?(@.type=="Ready")]`. */

export type JsonPathStep =
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'index'; readonly index: number }
  | { readonly type: 'all' }
  | { readonly type: 'filter'; readonly path: string; readonly value: string };

const token =
  /\.?([\w-]+(?:\\\.[\w-]+)*)|\[(\d+)\]|\[\*\]|\.\*|\[['"]([^'"]+)['"]\]|\[\?\(@\.([\w.-]+)\s*==\s*['"]([^'"]*)['"]\)\]/y;
const cache = new Map<string, JsonPathStep[] | undefined>();
/** Bound of the parsed paths in memory. A process meets few different paths: those in the columns of its CustomResourceDefinitions. */
const cacheMax = 10_000;

/** The steps of the path. Undefined if the path does not have this syntax. */
export function parseJsonPath(path: string): JsonPathStep[] | undefined {
  const body = path.replace(/^\{|\}$/g, '').replace(/^\$/, '');
  const steps: JsonPathStep[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < body.length) {
    const match = token.exec(body);
    if (!match) return undefined;
    const [, name, index, quoted, filterPath, value] = match;
    if (name !== undefined) steps.push({ type: 'name', name: name.replaceAll('\\.', '.') });
    else if (index !== undefined) steps.push({ type: 'index', index: Number(index) });
    else if (quoted !== undefined) steps.push({ type: 'name', name: quoted });
    else if (filterPath !== undefined) steps.push({ type: 'filter', path: filterPath, value: value ?? '' });
    else steps.push({ type: 'all' });
  }
  return steps;
}

/** All values at the path. Empty if the path leads to nothing or does not have this syntax. */
export function evaluateJsonPath(root: unknown, path: string): unknown[] {
  if (!cache.has(path)) {
    if (cache.size >= cacheMax) cache.clear();
    cache.set(path, parseJsonPath(path));
  }
  let values: unknown[] = [root];
  for (const step of cache.get(path) ?? []) values = values.flatMap((value) => follow(value, step));
  return cache.get(path) ? values.filter((value) => value !== undefined && value !== null) : [];
}

function follow(value: unknown, step: JsonPathStep): unknown[] {
  if (value === null || typeof value !== 'object') return [];
  switch (step.type) {
    case 'name':
      return Object.hasOwn(value, step.name) ? [(value as Record<string, unknown>)[step.name]] : [];
    case 'index':
      return Array.isArray(value) && step.index < value.length ? [value[step.index]] : [];
    case 'all':
      return Object.values(value);
    case 'filter':
      return Array.isArray(value)
        ? value.filter((item) => evaluateJsonPath(item, `.${step.path}`).some((v) => String(v) === step.value))
        : [];
  }
}
