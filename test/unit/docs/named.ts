/** The names on a page that belong to the project: files and folders by their path from the root, links to other pages, npm scripts. */
import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';

const roots = globSync('{*,.ci}/', { exclude: ['node_modules'] }).map((folder) => folder.replaceAll('.', '\\.'));
/** A name with an ending, or with a slash after it: `deploy/till` is an object, and `test/long/*.test.ts` names no single file. */
const path = new RegExp(
  `(?<![\\w./~-])(?:${roots.join('|')})/(?:[\\w.-]+/)*(?:[\\w-]+(?:\\.\\w+)+)?(?![\\w<*{…/-])`,
  'g',
);
const code = /```[\s\S]*?```|`[^`\n]+`/g;
const link = /\]\(([^)#\s]+)(?:#[^)]*)?\)/g;
/** `npm ci` and the like are npm's own. */
const script = /\bnpm (?:run ([\w:-]+)|(test|start)\b)/g;

/** `page`: the path of the text from the root. */
export function filesIn(page: string, text: string): string[] {
  const inCode = [...text.matchAll(code)].flatMap(([span]) => [...span.matchAll(path)].map(([found]) => found));
  const linked = [...text.matchAll(link)]
    .map(([, to = '']) => to)
    .filter((to) => !/^\w+:/.test(to))
    .map((to) => join(dirname(page), to));
  return [...new Set([...inCode, ...linked])];
}

export function scriptsIn(text: string): string[] {
  return [...new Set([...text.matchAll(script)].map(([, run, short]) => run ?? short ?? ''))];
}

/** Messages with the remedy. */
export function flawsOf(page: string, text: string, scripts: ReadonlySet<string>): string[] {
  return [
    ...filesIn(page, text)
      .filter((file) => !existsSync(file))
      .map((file) => `${file} is not there: name the file that does this now`),
    ...scriptsIn(text)
      .filter((name) => !scripts.has(name))
      .map((name) => `package.json has no script "${name}"`),
  ];
}
