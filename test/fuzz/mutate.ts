/** Makes a conversation from others: frames left out, repeated, moved, taken from another conversation; bytes changed, cut, inserted. */
import type { SeededRandom } from '../../core/runtime/random.ts';

export type Conversation = readonly Buffer[];

/** Enough frames to reach every state; more would only be slower. */
const framesMax = 12;
/** Numbers at limits, as varints. */
const edges = [
  '00',
  '01',
  '7f',
  '8001',
  'ffff03',
  'ffffffff0f',
  '80808080808040',
  'ffffffffffffff0f',
  'ffffffffffffffffff01',
];

export function mutated(random: SeededRandom, corpus: readonly Conversation[]): Conversation {
  const below = (end: number) => Math.floor(random.fraction() * end);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const frames = [...pick(corpus)];
  for (let steps = 1 + below(4); steps > 0; steps--) {
    const at = below(frames.length + 1);
    const frame = frames[Math.min(at, frames.length - 1)] ?? Buffer.alloc(0);
    switch (below(7)) {
      case 0:
        frames.splice(at, 1);
        break;
      case 1:
        frames.splice(at, 0, frame);
        break;
      case 2:
        frames.splice(at, 0, pick(pick(corpus)));
        break;
      case 3:
        frames.splice(below(frames.length + 1), 0, ...frames.splice(at, 1));
        break;
      default:
        frames.splice(at, 1, mutatedFrame(random, frame));
    }
  }
  return frames.slice(0, framesMax).filter((frame) => frame !== undefined);
}

export function mutatedFrame(random: SeededRandom, frame: Buffer): Buffer {
  const below = (end: number) => Math.floor(random.fraction() * end);
  const edge = Buffer.from(edges[below(edges.length)]!, 'hex');
  const at = below(frame.length + 1);
  const [before, after] = [frame.subarray(0, at), frame.subarray(at)];
  switch (below(4)) {
    case 0:
      return Buffer.concat([before, Buffer.of(below(256)), after.subarray(1)]);
    case 1:
      return before;
    case 2:
      return Buffer.concat([before, edge, after.subarray(1)]);
    default:
      return Buffer.concat([before, after.subarray(below(8))]);
  }
}
