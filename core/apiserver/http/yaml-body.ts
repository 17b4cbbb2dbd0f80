/** Parses a YAML text to a JSON value. Takes some microseconds per byte, and seconds for a malicious text: see yaml-thread.ts. */
import {
  type Document,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLParseError,
} from 'yaml';
import { exactNumbers, mayHaveLongInteger } from '../../object/exact-integers.ts';
import { jsonValuesMax, tooManyValues } from '../../object/json-bounds.ts';
import { beyondLimits, depthMax } from '../../object/json-limits.ts';
import { BanyanError } from '../../runtime/errors.ts';

/** Enough for people, too few for a text whose nested aliases stand for a huge value. */
const aliasesMax = 50;

/** Throws BadRequest, or TooLarge for more values than a body may have. */
export function parseYaml(text: string): unknown {
  checkTokens(text);
  const intAsBigInt = mayHaveLongInteger(text);
  const lineCounter = new LineCounter();
  // With these options off, the library does not compare each key of a mapping with all former keys, and does not quote the text for each of a million
  // errors.
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, intAsBigInt, lineCounter });
  const [error] = document.errors;
  const wrong = error ? described(error, lineCounter) : repeatedKey(document, lineCounter);
  if (wrong !== undefined) throw new BanyanError('BadRequest', `error converting YAML to JSON: ${wrong}`);
  const parsed: unknown = document.toJS({ maxAliasCount: aliasesMax });
  const value = intAsBigInt ? exactNumbers(parsed) : parsed;
  const beyond = beyondLimits(value);
  if (beyond !== undefined) throw new BanyanError('BadRequest', beyond);
  return value;
}

/** The lexer puts this character in front of a scalar. */
const scalarMark = '\u001f';

/**
 * Checks the depth and the number of values by the tokens alone, which costs a tenth of parsing. The parser would recurse until no stack is left, and then
 * report an error for each level. A field of a flow mapping has two of the counted signs, so this count is rough. The JSON of the accepted text is counted
 * exactly.
 */
function checkTokens(text: string): void {
  let [flowDepth, depthOfLine, signs, isScalarNext] = [0, 0, 0, false];
  for (const token of new Lexer().lex(text)) {
    const sign = isScalarNext ? '' : token;
    isScalarNext = token === scalarMark;
    if (sign === '[' || sign === '{') flowDepth++;
    else if (sign === ']' || sign === '}') flowDepth--;
    else if (sign === '-' || sign === '?' || sign === ':') depthOfLine++;
    else if (sign.includes('\n')) depthOfLine = 0;
    if (flowDepth > depthMax || (flowDepth === 0 && depthOfLine > depthMax)) throw tooDeep();
    if (sign === '-' || sign === ',' || sign === ':') signs++;
    if (signs > 2 * jsonValuesMax) throw tooManyValues();
  }
}

function tooDeep(): BanyanError {
  const remedy = 'make it flatter, or write it as a string';
  return new BanyanError('BadRequest', `the body is nested more than ${depthMax} levels deep: ${remedy}`);
}

function described({ message, pos }: YAMLParseError, lines: LineCounter): string {
  const { line, col } = lines.linePos(pos[0]);
  return `${message} at line ${line}, column ${col}`;
}

/** The message for the first key that its mapping has twice. */
function repeatedKey(document: Document.Parsed, lines: LineCounter): string | undefined {
  let wrong: string | undefined;
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) {
          const { line, col } = lines.linePos((key as Node).range?.[0] ?? 0);
          wrong = `Map keys must be unique at line ${line}, column ${col}`;
          return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return wrong;
}
