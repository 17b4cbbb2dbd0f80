/**
 * Reads the labels of an object from its canonical bytes (canonical.ts) without parsing the rest. A list with a label selector reads the labels of every
 * object, and an object may have a megabyte of data and as much in managedFields.
 */
import type { Labels } from './selector.ts';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
/** The length of `{"metadata":{`, with which all canonical bytes begin. */
const start = 13;
const label = Buffer.from('"labels"');
const none: Labels = {};

export function labelsInBody(body: Uint8Array): Labels {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  for (let at = start; at < bytes.length && bytes[at] !== closeBrace; ) {
    const colon = afterString(bytes, at);
    const end = afterValue(bytes, colon + 1);
    const isLabels = colon - at === label.length && bytes.compare(label, 0, label.length, at, colon) === 0;
    if (isLabels) return (JSON.parse(bytes.toString('utf8', colon + 1, end)) as Labels | null) ?? none;
    at = bytes[end] === comma ? end + 1 : end;
  }
  return none;
}

/** The position after the value that begins at `at`. */
function afterValue(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === quote) return afterString(bytes, at);
  if (first === openBrace || first === openBracket) return afterBrackets(bytes, at);
  let end = at;
  while (end < bytes.length && bytes[end] !== comma && bytes[end] !== closeBrace) end++;
  return end;
}

function afterBrackets(bytes: Buffer, at: number): number {
  let depth = 0;
  for (let end = at; end < bytes.length; ) {
    const byte = bytes[end];
    if (byte === quote) {
      end = afterString(bytes, end);
      continue;
    }
    if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) depth--;
    end++;
    if (depth === 0) return end;
  }
  return bytes.length;
}

/** The position after the string whose opening quote is at `at`. */
function afterString(bytes: Buffer, at: number): number {
  for (let end = bytes.indexOf(quote, at + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let escapes = 0;
    while (bytes[end - 1 - escapes] === backslash) escapes++;
    if (escapes % 2 === 0) return end + 1;
  }
  return bytes.length;
}
