/** Parses a YAML file that people write, and finds the line of each of its fields. */
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  Parser,
  parseAllDocuments,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { describeError } from './errors.ts';
import { type Checked, fieldText } from './schema-problems.ts';
import { beyondYamlBounds, repeatedKeys } from './yaml-bounds.ts';

/** A problem of a file, with its field and line. */
export interface FileProblem {
  /** `spec.relays[0].labls`. Empty: the problem is not of a field. */
  readonly field: string;
  readonly message: string;
  readonly line?: number;
}

export interface YamlText {
  readonly value: unknown;
  /** The line of the key at a path, or of the nearest existing key above it. */
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

/** How many aliases a file may have: they could make a small file enormous. A tree of 100,000 clusters has a file of some 30 MB. */
const aliasesMax = 100;
/** Levels of nesting: as many as an object of the API may have (object/json-limits.ts), because some files have objects. */
const depthMax = 500;
/** Errors of one document that a person reads. A file that is no YAML at all may have a million. */
const errorsMax = 20;

/** Without prettyErrors, messages do not quote the text, which may be a kubeconfig. Without uniqueKeys, a map with many keys takes no minutes. */
const parseOptions = { uniqueKeys: false, prettyErrors: false } as const;

/** Parses a file with one document. */
export function parseYamlFile(text: string): Checked<YamlText, FileProblem> {
  const deep = tooDeep(text);
  if (deep) return { problems: [deep] };
  const lines = new LineCounter();
  return textOf(parseDocument(text, { lineCounter: lines, ...parseOptions }), text, lines);
}

/** Parses a file with several documents. Empty documents are left out. Returns the problems of all documents. */
export function parseYamlFiles(text: string): Checked<YamlText[], FileProblem> {
  const deep = tooDeep(text);
  if (deep) return { problems: [deep] };
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, ...parseOptions });
  const parsed = [...documents].map((document) => textOf(document, text, lines));
  const problems = parsed.flatMap((one) => ('problems' in one ? one.problems : []));
  if (problems.length > 0) return { problems: problems.slice(0, errorsMax) };
  return { value: parsed.flatMap((one) => ('value' in one && one.value.value !== null ? [one.value] : [])) };
}

function tooDeep(text: string): FileProblem | undefined {
  const beyond = beyondYamlBounds(text, { depth: depthMax });
  if (!beyond) return undefined;
  const message = `the file is nested more than ${depthMax} levels deep: make it flatter, or check that it is the right file`;
  return { field: '', message, line: beyond.line };
}

function textOf(
  document: Document.Parsed<ParsedNode>,
  text: string,
  lines: LineCounter,
): Checked<YamlText, FileProblem> {
  if (document.errors.length > 0) {
    const problems = document.errors.slice(0, errorsMax).map((error) => ({
      field: '',
      message: yamlMessage(error, text),
      line: lines.linePos(error.pos[0]).line,
    }));
    return { problems };
  }
  const repeated = repeatedKeys(document, lines);
  if (repeated.length > 0) {
    const remedy = 'stands twice in its map; keep one of the two';
    return { problems: repeated.map(({ name, line }) => ({ field: '', message: `the key ${name} ${remedy}`, line })) };
  }
  const root = document.contents as Node | null;
  try {
    const value: unknown = document.toJS({ maxAliasCount: aliasesMax });
    return { value: { value, lineOf: (path) => lineOf(root, path, lines) } };
  } catch (error) {
    // An alias without an anchor, or too many aliases.
    return { problems: [{ field: '', message: `not YAML: ${describeError(error)}` }] };
  }
}

/** `FILE:12: spec.relays[0].name is missing` */
export function formatProblem(file: string, { field, message, line }: FileProblem): string {
  return `${file}${line === undefined ? '' : `:${line}`}: ${field === '' ? message : fieldText(field, message)}`;
}

function yamlMessage({ code, message }: YAMLError, text: string): string {
  if (code !== 'MULTIPLE_DOCS') return `not YAML: ${message}`;
  return `the file has ${documentsIn(text)} documents; keep one`;
}

/** The number of documents, without composing them. */
function documentsIn(text: string): number {
  let documents = 0;
  for (const { type } of new Parser().parse(text)) if (type === 'document') documents++;
  return documents;
}

function lineOf(root: Node | null, path: readonly PropertyKey[], lines: LineCounter): number | undefined {
  let node: unknown = root;
  let start = root?.range?.[0];
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === part);
      if (!pair) break;
      start = isNode(pair.key) ? pair.key.range?.[0] : start;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      if (isNode(node)) start = node.range?.[0] ?? start;
    } else {
      break;
    }
  }
  return start === undefined ? undefined : lines.linePos(start).line;
}
