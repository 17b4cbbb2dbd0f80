import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { playLines } from '../script.ts';
import { SiblingWorld } from './world.ts';

const directory = 'test/transcripts/replicas';

const commands: { readonly [word: string]: (world: SiblingWorld, ...args: string[]) => unknown } = {
  start: (world, name) => world.start(name!),
  crash: (world, name) => world.crash(name!),
  copy: (world, from, to) => world.copy(from!, to!),
  cut: (world, child, sibling) => world.cut(child!, sibling!),
  // swallow CHILD REPLICA [WHO SENDS]
  swallow: (world, child, sibling, from) => world.swallow(child!, sibling!, from),
  // put SIBLING KEY BODY REVISION
  put: (world, sibling, key, body, revision) => world.put(sibling!, key!, body!, Number(revision)),
  'cut-off': (world, sibling) => world.cutOff(sibling!),
  reached: (world, sibling, revision) => world.reached(sibling!, Number(revision)),
  show: (world, child) => world.show(child!),
};

describe('replicas and their child, as conversations', () => {
  it.each(readdirSync(directory).filter((file) => file.endsWith('.txt')))('%s', async (file) => {
    const text = readFileSync(`${directory}/${file}`, 'utf8');
    await expect(await playLines(text, new SiblingWorld(), commands)).toMatchFileSnapshot(`./${file}`);
  });
});
