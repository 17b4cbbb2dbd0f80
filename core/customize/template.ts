/**
 * Values whose strings contain expressions: `"Welcome to ${{ location.metadata.name }}"`. If a string is only one expression, it becomes the value of the
 * expression, with its type. In every other string, the value is inserted as text: strings unchanged, other values as JSON. `$${{` produces the characters
 * `${{`.
 */

import type { CelProgram } from '../match/cel/cel.ts';
import type { CelValue } from '../match/cel/values.ts';
import { jsonText } from '../object/json.ts';
import { cloneJson, setField } from '../object/json-value.ts';
import type { Json, JsonObject } from '../object/meta.ts';
import { celToJson } from './cel-to-json.ts';

/** The functions that a template needs from the rendering to which it belongs. */
export interface TemplateContext {
  evaluate(program: CelProgram): CelValue;
  /** Counts the characters that are added to the result. Throws if the sum is too large. */
  grow(characters: number): void;
  /** Calls `run`, which may fail. The error then names `field`, a field of the Customizer. */
  at<T>(field: string, run: () => T): T;
}

export type Template = (context: TemplateContext) => Json;

/** `compile` records an invalid expression itself and returns undefined. `wrong` records any other mistake, with its field. */
export interface TemplateCompiler {
  compile(source: string, field: string, shown: string): CelProgram | undefined;
  wrong(field: string, value: string, message: string): void;
}

const opening = '${{';

/** Splits the text. Each part is plain text, or the source of an expression. Throws SyntaxError. */
export function splitTemplate(text: string): ({ text: string } | { expression: string })[] {
  const parts: ({ text: string } | { expression: string })[] = [];
  let plain = '';
  let at = 0;
  for (;;) {
    const next = text.indexOf(opening, at);
    if (next < 0) break;
    if (next > at && text[next - 1] === '$') {
      plain += `${text.slice(at, next - 1)}${opening}`;
      at = next + opening.length;
      continue;
    }
    plain += text.slice(at, next);
    if (plain !== '') parts.push({ text: plain });
    plain = '';
    const end = endOfExpression(text, next + opening.length);
    parts.push({ expression: text.slice(next + opening.length, end).trim() });
    at = end + 2;
  }
  plain += text.slice(at);
  if (plain !== '' || parts.length === 0) parts.push({ text: plain });
  return parts;
}

const literal = /[rRbB]{0,2}("""|'''|"|')/y;

/** The position of the first `}}` that is outside of all string literals and does not close a brace of the expression itself. */
function endOfExpression(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at]!;
    if (char === '{') depth++;
    if (char === '}') {
      if (depth === 0 && text[at + 1] === '}') return at;
      depth--;
    }
    literal.lastIndex = at;
    const quoted = literal.exec(text);
    // The r in `in r"…"` belongs to the literal. It can't be the last letter of a name: in valid CEL, no quote follows a name directly.
    if (quoted) at = endOfLiteral(text, at + quoted[0].length, quoted[1]!, /^[bB]?[rR]/.test(quoted[0])) - 1;
  }
  throw new SyntaxError('"${{" without its "}}"; write "$${{" for the characters themselves');
}

function endOfLiteral(text: string, from: number, quote: string, isRaw: boolean): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\' && !isRaw) at++;
    else if (text.startsWith(quote, at)) return at + quote.length;
  }
  return text.length;
}

/** The compiled template. Each call copies the values without expressions, because another patch may change the object that contains them. */
export function compileTemplate(value: Json, field: string, compiler: TemplateCompiler): Template {
  const template = dynamicPart(value, field, compiler);
  return template ?? (() => cloneJson(value));
}

/** The template of a value that contains expressions. Undefined if the value has none. */
function dynamicPart(value: Json, field: string, compiler: TemplateCompiler): Template | undefined {
  if (typeof value === 'string') return value.includes(opening) ? stringTemplate(value, field, compiler) : undefined;
  if (Array.isArray(value)) {
    const items = value.map((item, index) => dynamicPart(item, `${field}[${index}]`, compiler));
    if (items.every((item) => item === undefined)) return undefined;
    return (context) => value.map((item, index) => (items[index] ? items[index](context) : cloneJson(item)));
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = Object.entries(value).map(
    ([name, inner]) => [name, inner, dynamicPart(inner, `${field}.${name}`, compiler)] as const,
  );
  if (fields.every(([, , template]) => template === undefined)) return undefined;
  return (context) => {
    const result: JsonObject = {};
    for (const [name, inner, template] of fields)
      setField(result, name, template ? template(context) : cloneJson(inner));
    return result;
  };
}

function stringTemplate(text: string, field: string, compiler: TemplateCompiler): Template | undefined {
  const parts = programs(text, field, compiler);
  if (!parts) return undefined;
  const [only] = parts;
  if (parts.length === 1 && only && typeof only !== 'string') return (context) => resultOf(context, only, field);
  return (context) => {
    let result = '';
    for (const part of parts) result += typeof part === 'string' ? part : textOf(resultOf(context, part, field));
    return result;
  };
}

function programs(text: string, field: string, compiler: TemplateCompiler): (string | CelProgram)[] | undefined {
  let parts: ReturnType<typeof splitTemplate>;
  try {
    parts = splitTemplate(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    compiler.wrong(field, text, error.message);
    return undefined;
  }
  const compiled: (string | CelProgram)[] = [];
  for (const part of parts) {
    const program = 'text' in part ? part.text : compiler.compile(part.expression, field, text);
    if (program === undefined) return undefined;
    compiled.push(program);
  }
  return compiled;
}

function resultOf(context: TemplateContext, program: CelProgram, field: string): Json {
  return context.at(field, () => celToJson(context.evaluate(program), (characters) => context.grow(characters)));
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : jsonText(value);
}
