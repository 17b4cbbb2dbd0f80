import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { mutated } from '../../../fuzz/mutate.ts';
import { broken } from '../../../fuzz/promises.ts';
import { OneSide, type Side } from '../../../support/one-side.ts';
import { frameOf, framesFor } from '../../../support/sent-frames.ts';

const directory = 'test/fuzz/corpus';
const kept = readdirSync(directory);
const conversation = (file: string) =>
  readFileSync(`${directory}/${file}`, 'utf8')
    .split('\n')
    .map((line) => Buffer.from(line, 'hex'));
const sideOf = (file: string) => file.split('-')[0] as Side;
/** Each takes some milliseconds. */
const runs = 150;

describe('the promises of a session', () => {
  it.each(kept)('hold in the kept conversation %s', async (file) => {
    expect(await broken(sideOf(file), conversation(file))).toBeUndefined();
  });

  it.each<[Side, number]>([
    ['parent', 1],
    ['parent', 2],
    ['child', 3],
    ['child', 4],
  ])('hold at a %s in conversations that were made from these, from seed %i on', async (side, seed) => {
    const corpus = kept.filter((file) => sideOf(file) === side).map(conversation);
    for (let run = 0; run < runs; run++) {
      const frames = mutated(new SeededRandom(seed * 1_000 + run), corpus);
      expect([run, await broken(side, frames)]).toEqual([run, undefined]);
    }
  });

  it.each<Side>(['parent', 'child'])('hold when a %s receives any two valid frames in sequence', async (side) => {
    const frames = framesFor(side, new OneSide(side));
    for (const { before, number, value } of frames) {
      for (const next of frames) {
        const frames = [...before, frameOf(number, value), frameOf(next.number, next.value)];
        expect([number, next.kind, await broken(side, frames)]).toEqual([number, next.kind, undefined]);
      }
    }
  });
});
