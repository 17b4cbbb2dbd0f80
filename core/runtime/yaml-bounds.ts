/**
 * Checks around the YAML library for texts that may be huge or hostile. The library takes minutes for 3 MB of `[`, because it reports an error for each level,
 * and it compares each key of a map with all keys before it.
 */
import { type Document, isScalar, Lexer, type LineCounter, type Node, visit } from 'yaml';

export interface YamlBounds {
  /** Levels of nesting in flow collections (`[{`), and of block collections that begin in one line (`- - -`). */
  readonly depth: number;
  /** Number of fields and items. Absent: no limit. */
  readonly values?: number;
}

/** The bound that a text exceeds, and the line where it does. */
export interface BeyondYamlBounds {
  readonly bound: 'depth' | 'values';
  readonly line: number;
}

/** The lexer puts this character before each scalar. */
const scalarMark = '\u001f';

/**
 * Checks the bounds, using only the tokens, which costs a tenth of parsing. Without the check, the parser could recurse until the stack is full. A field of a
 * flow map has two of the counted tokens, so the count of values is not exact. Undefined: the text is within the bounds.
 */
export function beyondYamlBounds(
  text: string,
  { depth, values = Number.POSITIVE_INFINITY }: YamlBounds,
): BeyondYamlBounds | undefined {
  let [flowDepth, depthOfLine, signs, line, isScalarNext] = [0, 0, 0, 1, false];
  const beyond = (bound: BeyondYamlBounds['bound']): BeyondYamlBounds => ({ bound, line });
  for (const token of new Lexer().lex(text)) {
    const sign = isScalarNext ? '' : token;
    isScalarNext = token === scalarMark;
    if (sign === '[' || sign === '{') flowDepth++;
    else if (sign === ']' || sign === '}') flowDepth--;
    else if (sign === '-' || sign === '?' || sign === ':') depthOfLine++;
    else if (sign.includes('\n')) depthOfLine = 0;
    if (flowDepth > depth || (flowDepth === 0 && depthOfLine > depth)) return beyond('depth');
    if (sign === '-' || sign === ',' || sign === ':') signs++;
    if (signs > 2 * values) return beyond('values');
    line += newlinesIn(token);
  }
  return undefined;
}

function newlinesIn(token: string): number {
  let count = 0;
  for (let at = token.indexOf('\n'); at >= 0; at = token.indexOf('\n', at + 1)) count++;
  return count;
}

export interface RepeatedKey {
  readonly name: string;
  /** The line where the key occurs again. */
  readonly line: number;
}

/** A longer list would not help the author. */
const repeatedKeysMax = 20;

/** The first keys that occur twice in their map. The document was parsed without `uniqueKeys`. */
export function repeatedKeys(document: Document.Parsed, lines: LineCounter): readonly RepeatedKey[] {
  const repeated: RepeatedKey[] = [];
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) {
          const { line } = lines.linePos((key as Node).range?.[0] ?? 0);
          repeated.push({ name: String(name), line });
          if (repeated.length === repeatedKeysMax) return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return repeated;
}
