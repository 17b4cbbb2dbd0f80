/** The imports between source files, and between their folders. A type import counts as well, because a reader has to follow it too. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Who imports whom: files, or their folders. */
export type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** A folder and one that imports it back, with every import between the two. */
export interface Pair {
  readonly folders: readonly [string, string];
  readonly imports: readonly string[];
}

/** Static, dynamic and type-only imports; the formatter gives all of them this form. */
const specifier = /\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

/** The program's files with their text, without generated ones. */
export function sources(): Map<string, string> {
  const files = globSync('{core,relay,edge-agent,center}/**/*.ts', { exclude: ['**/generated/**'] });
  return new Map(files.sort().map((file) => [file, readFileSync(file, 'utf8')]));
}

export function importsOf(texts: ReadonlyMap<string, string>): Imports {
  return new Map(
    [...texts].map(([file, text]) => {
      const named = [...text.matchAll(specifier)].map(([, to = '']) => join(dirname(file), to));
      return [file, new Set(named.filter((to) => texts.has(to)))];
    }),
  );
}

export function foldersOf(files: Imports): Imports {
  const folders = new Map<string, Set<string>>();
  for (const [from, to] of between(files)) {
    const known = folders.get(dirname(from)) ?? new Set<string>();
    folders.set(dirname(from), known.add(dirname(to)));
  }
  return folders;
}

export function pairsOf(files: Imports): Pair[] {
  const folders = foldersOf(files);
  return [...folders].flatMap(([a, imported]) =>
    [...imported]
      .filter((b) => a < b && folders.get(b)?.has(a))
      .map((b): Pair => {
        const both = between(files).filter(([from, to]) =>
          [a, b].every((f) => [dirname(from), dirname(to)].includes(f)),
        );
        return { folders: [a, b], imports: both.map(([from, to]) => `${from} -> ${to}`).sort() };
      }),
  );
}

/** Groups of which every member reaches every other one by imports (Tarjan's strongly connected components), without those of a single member. */
export function circlesOf(imports: Imports): string[][] {
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const path: string[] = [];
  /** The first node of the path that is reached from here. */
  const visit = (at: string): number => {
    const own = order.size;
    order.set(at, own);
    path.push(at);
    let first = own;
    for (const to of imports.get(at) ?? []) {
      if (!order.has(to)) first = Math.min(first, visit(to));
      else if (path.includes(to)) first = Math.min(first, order.get(to)!);
    }
    if (first === own) {
      const circle = path.splice(path.indexOf(at));
      if (circle.length > 1) circles.push(circle.sort());
    }
    return first;
  };
  for (const at of imports.keys()) if (!order.has(at)) visit(at);
  return circles;
}

/** Imports that leave a folder. */
function between(files: Imports): (readonly [string, string])[] {
  return [...files]
    .flatMap(([from, imported]) => [...imported].map((to) => [from, to] as const))
    .filter(([from, to]) => dirname(from) !== dirname(to));
}
