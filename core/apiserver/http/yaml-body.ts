/** Parses a YAML text to a JSON value. This takes a few microseconds per byte, but a malicious text takes several seconds: see body-thread.ts. */

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
import { exactIntegers, jsonText } from '../../object/json.ts';
import { jsonValuesMax, tooManyValues } from '../../object/json-bounds.ts';
import { beyondLimits, depthMax } from '../../object/json-limits.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';

/** Maximal number of aliases: enough for people, but too few to make a huge value with nested aliases. */
const aliasesMax = 50;

/** A text without these has no integer beyond 2^53. */
const longInteger = /\d{16}|0[xo]/;

/** Throws BadRequest, or TooLarge if the text has more values than a body may have. */
export function parseYaml(text: string): unknown {
  checkTokens(text);
  const intAsBigInt = longInteger.test(text);
  const lineCounter = new LineCounter();
  // Without uniqueKeys, the library does not compare each key of a mapping with all keys before it. Without prettyErrors, it does not quote the text for
  // each one of perhaps a million errors.
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, intAsBigInt, lineCounter });
  const [error] = document.errors;
  if (error) throw new BanyanError('BadRequest', `error converting YAML to JSON: ${described(error, lineCounter)}`);
  const repeated = repeatedKeys(document, lineCounter);
  if (repeated.length > 0) {
    const list = repeated.map((one) => `\n  ${one}`).join('');
    const message = `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:${list}`;
    throw new BanyanError('BadRequest', message);
  }
  const parsed: unknown = document.toJS({ maxAliasCount: aliasesMax });
  const value = intAsBigInt ? exactIntegers(parsed) : parsed;
  const beyond = beyondLimits(value);
  if (beyond !== undefined) throw new BanyanError('BadRequest', beyond);
  return value;
}

/** The JSON of a YAML text. Throws like `parseYaml`, and BadRequest for every other error of the parser. */
export function yamlToJson(text: string): string {
  try {
    return jsonText(parseYaml(text));
  } catch (error) {
    if (error instanceof BanyanError) throw error;
    const message = `the object provided is unrecognized (must be valid yaml): ${describeError(error)}`;
    throw new BanyanError('BadRequest', message, {}, { cause: error });
  }
}

/** The lexer puts this character before each scalar. */
const scalarMark = '\u001f';

/**
 * Checks the depth and the number of values, using only the tokens, which costs a tenth of parsing. Without the check, the parser could recurse until the
 * stack is full, and then report an error for each level. A field of a flow mapping has two of the counted tokens, so this count is not exact. The values
 * in the JSON of an accepted text are counted exactly.
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

/** A longer list would not help the author. */
const repeatedKeysMax = 20;

/** The messages for keys that occur twice in their mapping, as Go's YAML library writes them. */
function repeatedKeys(document: Document.Parsed, lines: LineCounter): string[] {
  const wrong: string[] = [];
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) {
          const { line } = lines.linePos((key as Node).range?.[0] ?? 0);
          wrong.push(`line ${line}: key ${jsonText(String(name))} already set in map`);
          if (wrong.length === repeatedKeysMax) return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return wrong;
}
