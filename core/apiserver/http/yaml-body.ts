/** Parses a YAML text to a JSON value. This takes a few microseconds per byte, but a malicious text takes several seconds: see body-thread.ts. */

import { LineCounter, parseDocument, type YAMLParseError } from 'yaml';
import { exactIntegers, jsonText } from '../../object/json.ts';
import { jsonValuesMax, tooManyValues } from '../../object/json-bounds.ts';
import { beyondLimits, depthMax } from '../../object/json-limits.ts';
import { BanyanError, describeError } from '../../runtime/errors.ts';
import { beyondYamlBounds, repeatedKeys } from '../../runtime/yaml-bounds.ts';

/** Maximal number of aliases: enough for people, but too few to make a huge value with nested aliases. */
const aliasesMax = 50;

/** A text without these has no integer beyond 2^53. */
const longInteger = /\d{16}|0[xo]/;

/** Throws BadRequest, or TooLarge if the text has more values than a body may have. */
export function parseYaml(text: string): unknown {
  checkBounds(text);
  const intAsBigInt = longInteger.test(text);
  const lineCounter = new LineCounter();
  // Without prettyErrors, the library does not quote the text for each one of perhaps a million errors.
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, intAsBigInt, lineCounter });
  const [error] = document.errors;
  if (error) throw new BanyanError('BadRequest', `error converting YAML to JSON: ${described(error, lineCounter)}`);
  const repeated = repeatedKeys(document, lineCounter);
  if (repeated.length > 0) {
    // As Go's YAML library writes them.
    const list = repeated
      .map(({ line, name }) => `\n  line ${line}: key ${jsonText(name)} already set in map`)
      .join('');
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

function checkBounds(text: string): void {
  const beyond = beyondYamlBounds(text, { depth: depthMax, values: jsonValuesMax });
  if (beyond) throw beyond.bound === 'depth' ? tooDeep() : tooManyValues();
}

function tooDeep(): BanyanError {
  const remedy = 'make it flatter, or write it as a string';
  return new BanyanError('BadRequest', `the body is nested more than ${depthMax} levels deep: ${remedy}`);
}

function described({ message, pos }: YAMLParseError, lines: LineCounter): string {
  const { line, col } = lines.linePos(pos[0]);
  return `${message} at line ${line}, column ${col}`;
}
