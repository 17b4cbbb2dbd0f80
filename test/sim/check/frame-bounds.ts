/** Invariant 14, for single frames: no honest node exceeds the limits of docs/protocol.md for the contents of a frame ("Limits", "Byte streams"). */
import type { Entry, Frame } from '../../../core/wire/generated/mesh.ts';

const KiB = 1024;

/** The limits, keyed by the counted thing. The numbers are those of docs/protocol.md, and not the product's constants. */
export const bounds = {
  'entries of a batch': 512,
  'bytes of a batch': 64 * KiB,
  'bytes of a piece': 64 * KiB,
  'bytes of a content in pieces': 4 * KiB * KiB,
  'bytes of an answer': 256 * KiB,
  'prefixes of a request': 256,
  'keys of a request': 256,
  'answers of a reply': 256,
  'rows of a list': 64,
  'parts of a split': 16,
  'contents that are held in pieces': 32,
  'streams of a session': 256,
  'bytes of data': 32 * KiB,
  'bytes of a key': 1_500,
} as const;

export type Bound = keyof typeof bounds;

/** Bytes of a fingerprint in a split (`partBytes`), and of a row in a list (`rowBytes`). */
const partBytes = 8;
const rowBytes = 30;

/** Returns a message that names the exceeded limit. */
export function beyond({ frame }: Frame): string | undefined {
  for (const [bound, count] of counted(frame))
    if (count > bounds[bound]) return `${count} ${bound}, at most ${bounds[bound]}`;
  return undefined;
}

function counted(frame: Frame['frame']): [Bound, number][] {
  switch (frame?.$case) {
    case 'hello':
    case 'welcome':
      return [['contents that are held in pieces', frame.value.held.length]];
    case 'batch': {
      const { entries } = frame.value;
      return [['entries of a batch', entries.length], ['bytes of a batch', bytesOf(entries)], ...keysOf(entries)];
    }
    case 'piece':
      return [
        ['bytes of a piece', frame.value.data.length],
        ['bytes of a content in pieces', frame.value.total],
      ];
    case 'reconcileRequest':
      return [
        ['prefixes of a request', frame.value.prefixes.length],
        ['keys of a request', frame.value.wanted.length],
      ];
    case 'reconcileReply': {
      const { entries, answers } = frame.value;
      return [
        ['bytes of an answer', bytesOf(entries)],
        ['answers of a reply', answers.length],
        ...answers.map(({ rows }): [Bound, number] => ['rows of a list', rows.length / rowBytes]),
        ...answers.map(({ parts }): [Bound, number] => ['parts of a split', parts.length / partBytes]),
        ...keysOf(entries),
      ];
    }
    case 'census':
      return [['streams of a session', frame.value.streams.length]];
    case 'data':
      return [['bytes of data', frame.value.data.length]];
    default:
      return [];
  }
}

/** Counts the bytes of entries as docs/protocol.md does. */
export function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { key, attributes, body }) => sum + 64 + key.length + attributes.length + body.length, 0);
}

function keysOf(entries: readonly Entry[]): [Bound, number][] {
  return entries.map(({ key }) => ['bytes of a key', Buffer.byteLength(key)]);
}
