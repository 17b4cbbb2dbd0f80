/**
 * Writes JSON values as YAML, in the style of the Kubernetes API server (sigs.k8s.io/yaml): sorted keys, lists at the indentation of their key, literal blocks for
 * texts of several lines. Unlike there, no long line is folded. A text is quoted wherever a reader of YAML 1.1 or 1.2 would take it for something else.
 */
import { isRecord } from '../runtime/is-record.ts';

/** The text ends with a newline. */
export function yamlText(value: unknown): string {
  return body(value, '');
}

/** The value as an item of a list that begins at the first column. */
export function yamlItem(value: unknown): string {
  return `- ${body(value, step)}`;
}

const step = '  ';
/** A longer key needs the form with a question mark: readers look for the colon in the first 1,024 characters. */
const plainKeyMax = 128;

/** The lines of a value. The first one has no indentation: it follows a dash, or begins the text. */
function body(value: unknown, indent: string): string {
  if (Array.isArray(value) && value.length > 0) return listBody(value, indent);
  if (isFilledMap(value)) return mapBody(value, indent);
  return `${scalar(value, indent)}\n`;
}

function listBody(list: readonly unknown[], indent: string): string {
  return list.map((item) => `- ${body(item, indent + step)}`).join(indent);
}

function mapBody(map: Readonly<Record<string, unknown>>, indent: string): string {
  const names = Object.keys(map)
    .filter((name) => map[name] !== undefined)
    .sort();
  return names.map((name) => field(name, map[name], indent)).join(indent);
}

function field(name: string, value: unknown, indent: string): string {
  const key = name.includes('\n') ? JSON.stringify(name) : text(name, indent);
  const begin = key.length > plainKeyMax ? `? ${key}\n${indent}:` : `${key}:`;
  if (Array.isArray(value) && value.length > 0) return `${begin}\n${indent}${listBody(value, indent)}`;
  if (isFilledMap(value)) return `${begin}\n${indent}${step}${mapBody(value, indent + step)}`;
  return `${begin} ${scalar(value, indent + step)}\n`;
}

function isFilledMap(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && Object.values(value).some((one) => one !== undefined);
}

/** `indent`: of the lines of a literal block. */
function scalar(value: unknown, indent: string): string {
  if (typeof value === 'string') return text(value, indent);
  if (Array.isArray(value)) return '[]';
  return isRecord(value) ? '{}' : String(value ?? null);
}

function text(value: string, indent: string): string {
  if (isOtherwiseRead(value)) return JSON.stringify(value);
  if (!isPrintable.test(value)) return doubleQuoted(value);
  if (value.includes('\n')) return isBlock.test(value) ? literal(value, indent || step) : doubleQuoted(value);
  return isPlain(value) ? value : `'${value.replaceAll("'", "''")}'`;
}

/** Tabs and other control characters, surrogates without their other half, and marks of byte order are escaped. */
const isPrintable = /^[\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]*$/u;

function doubleQuoted(value: string): string {
  // JSON leaves these characters as they are, and some of them break a line in YAML.
  return JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A literal block can't begin with a space or an empty line, and a space at its end is easily lost. */
const isBlock = /^\S(?:[\s\S]*[^ ])?$/;

function literal(value: string, indent: string): string {
  const end = value.endsWith('\n\n') ? '+' : value.endsWith('\n') ? '' : '-';
  const lines = (end === '-' ? value : value.slice(0, -1)).split('\n');
  return `|${end}\n${lines.map((line) => (line === '' ? '' : indent + line)).join('\n')}`;
}

const isWord = /^(?:|~|null|true|false|yes|no|on|off|y|n|<<|=|[-+]?\.(?:inf|nan))$/i;
const isInteger = /^[-+]?(?:0[box])?[0-9a-f_]+$/i;
/** Wider than any number: some readers take `.` and `e0` for one. */
const isFloat = /^[-+]?[0-9_]*(?:\.[0-9_]*)?(?:e[-+]?[0-9]+)?$/i;
const isInBase60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const isTime = /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt ].*)?$/;
const firstOfOthers = /^[-+._0-9~=<enytfo]/i;

/** Whether the text without quotes would be a number, a time, a boolean or nothing. */
function isOtherwiseRead(value: string): boolean {
  if (value !== '' && !firstOfOthers.test(value)) return false;
  if (isWord.test(value) || isFloat.test(value) || isInBase60.test(value) || isTime.test(value)) return true;
  return isInteger.test(value) && /^[-+]?[0-9]/.test(value);
}

const isIndicator = /^[,[\]{}#&*!|>'"%@`]|^[-?:](?:\s|$)|^(?:---|\.\.\.)/;

/** Whether the text of one line means itself without quotes. */
function isPlain(value: string): boolean {
  return !isIndicator.test(value) && !/^ | $|: |:$| #/.test(value);
}
