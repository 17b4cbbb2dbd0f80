/**
 * Writes JSON values as YAML, in the style of the Kubernetes API server (sigs.k8s.io/yaml): sorted keys, lists at the indentation of their key, literal blocks for
 * texts of several lines. Unlike there, no long line is folded. A text is quoted wherever a reader of YAML 1.1 or 1.2 would take it for something else.
 */
import { BanyanError } from '../runtime/errors.ts';
import { isRecord } from '../runtime/is-record.ts';

/**
 * Characters of a text, at most. Each level of a value adds two spaces to each of its lines: 1.5 MB of JSON with hundreds of levels would be hundreds of
 * megabytes.
 */
const lengthMax = 8 * 1024 * 1024;

/** The text ends with a newline. Throws TooLarge if the text has more than `lengthMax` characters. */
export function yamlText(value: unknown): string {
  return body(value, '', { left: lengthMax });
}

/** The value as an item of a list that begins at the first column. Throws like `yamlText`. */
export function yamlItem(value: unknown): string {
  return `- ${body(value, step, { left: lengthMax })}`;
}

/** The number of characters that the rest of the text may have. */
interface Room {
  left: number;
}

const step = '  ';
/** A longer key needs the form with a question mark: readers look for the colon in the first 1,024 characters. */
const plainKeyMax = 128;

/** The lines of a value. The first one has no indentation: it follows a dash, or begins the text. */
function body(value: unknown, indent: string, room: Room): string {
  if (Array.isArray(value) && value.length > 0) return listBody(value, indent, room);
  if (isFilledMap(value)) return mapBody(value, indent, room);
  return `${scalar(value, indent, room)}\n`;
}

function listBody(list: readonly unknown[], indent: string, room: Room): string {
  return list.map((item) => `- ${body(item, indent + step, room)}`).join(indent);
}

function mapBody(map: Readonly<Record<string, unknown>>, indent: string, room: Room): string {
  const names = Object.keys(map)
    .filter((name) => map[name] !== undefined)
    .sort();
  return names.map((name) => field(name, map[name], indent, room)).join(indent);
}

function field(name: string, value: unknown, indent: string, room: Room): string {
  const key = name.includes('\n') ? JSON.stringify(name) : text(name, indent);
  const begin = key.length > plainKeyMax ? `? ${key}\n${indent}:` : `${key}:`;
  room.left -= begin.length;
  if (Array.isArray(value) && value.length > 0) return `${begin}\n${indent}${listBody(value, indent, room)}`;
  if (isFilledMap(value)) return `${begin}\n${indent}${step}${mapBody(value, indent + step, room)}`;
  return `${begin} ${scalar(value, indent + step, room)}\n`;
}

function isFilledMap(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && Object.values(value).some((one) => one !== undefined);
}

function scalar(value: unknown, indent: string, room: Room): string {
  const written = scalarText(value, indent);
  room.left -= written.length + indent.length;
  if (room.left >= 0) return written;
  const remedy = 'accept application/json';
  throw new BanyanError('TooLarge', `the YAML of the answer has more than ${lengthMax} characters: ${remedy}`);
}

/** `indent`: of the lines of a literal block. */
function scalarText(value: unknown, indent: string): string {
  if (typeof value === 'string') return text(value, indent);
  if (Array.isArray(value)) return '[]';
  return isRecord(value) ? '{}' : String(value ?? null);
}

function text(value: string, indent: string): string {
  if (isOtherwiseRead(value)) return JSON.stringify(value);
  if (!isPrintable.test(value)) return doubleQuoted(value);
  if (value.includes('\n')) {
    return isBlock.test(value) && indent.length <= blockIndentMax
      ? literal(value, indent || step)
      : doubleQuoted(value);
  }
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

/** A literal block repeats its indentation in each line. Far to the right, a text of a million short lines would become very long. */
const blockIndentMax = 32;
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
