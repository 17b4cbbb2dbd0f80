/** Turns a frame into an input of the session machine. Pure. Frames of streams are handled elsewhere (core/stream/streams.ts). */
import { BanyanError } from '../runtime/errors.ts';
import type { Frame } from '../wire/generated/mesh.ts';
import type { Input } from './session.ts';
import { batchFromWire, type Direction, directionOf, reconcileRequestFromWire, replyFromWire } from './wire-frames.ts';

/** Limit for the time after which a parent announces its return. If a parent announces a longer time, the child dials after this limit. */
const returnAfterMaxMs = 60_000;

/** Undefined: the session ignores the frame. Throws Protocol for a frame that is not allowed in a session, or that has a wrong form. */
export function inputOf({ frame }: Frame, produces: Direction): Input | undefined {
  const consumes = produces === 'down' ? 'up' : 'down';
  switch (frame?.$case) {
    case 'batch':
      expect(directionOf(frame.value.feed), consumes);
      return { type: 'batch', batch: batchFromWire(frame.value) };
    case 'ack':
      expect(directionOf(frame.value.feed), produces);
      return { type: 'ack', cursor: frame.value.cursor };
    case 'piece':
      expect(directionOf(frame.value.feed), consumes);
      return { type: 'piece', piece: frame.value };
    case 'credit':
      if (frame.value.stream !== 0) return undefined;
      expect(directionOf(frame.value.feed), produces);
      return { type: 'credit', bytes: frame.value.bytes };
    case 'beat':
      return { type: 'beat', head: frame.value.head, ready: frame.value.ready };
    case 'reconcileRequest':
      expect(directionOf(frame.value.feed), produces);
      return { type: 'request', request: reconcileRequestFromWire(frame.value) };
    case 'reconcileReply':
      expect(directionOf(frame.value.feed), consumes);
      return { type: 'reply', reply: replyFromWire(frame.value) };
    case 'resume':
      expect(directionOf(frame.value.feed), consumes);
      return { type: 'resume', resumes: frame.value.resumes };
    case 'goodbye':
      return frame.value.returnAfterMs > 0
        ? { type: 'goodbye', returnAfterMs: Math.min(frame.value.returnAfterMs, returnAfterMaxMs) }
        : { type: 'goodbye' };
    case 'hello':
    case 'welcome':
    case 'retry':
      throw new BanyanError('Protocol', `a ${frame.$case} in the middle of a session`);
    default:
      // The session ignores frames of later versions.
      return undefined;
  }
}

function expect(actual: Direction, expected: Direction): void {
  if (actual !== expected)
    throw new BanyanError('Protocol', `a frame for the ${actual} feed, which goes the other way`);
}
