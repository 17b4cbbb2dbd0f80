import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { playLines } from '../script.ts';
import { ReplicaWorld } from './world.ts';

const directory = 'test/transcripts/replicas';

const commands: { readonly [name: string]: (world: ReplicaWorld, ...args: string[]) => unknown } = {
  start: (world, name) => world.start(name!),
  crash: (world, name) => world.crash(name!),
  copy: (world, from, to) => world.copy(from!, to!),
  cut: (world, child, replica) => world.cut(child!, replica!),
  // swallow CHILD REPLICA [WHO SENDS]
  swallow: (world, child, replica, from) => world.swallow(child!, replica!, from),
  // put REPLICA KEY BODY REVISION
  put: (world, replica, key, body, revision) => world.put(replica!, key!, body!, Number(revision)),
  'cut-off': (world, replica) => world.cutOff(replica!),
  reached: (world, replica, revision) => world.reached(replica!, Number(revision)),
  show: (world, child) => world.show(child!),
};

describe('replicas and their child, as conversations', () => {
  it.each(readdirSync(directory).filter((file) => file.endsWith('.txt')))('%s', async (file) => {
    const text = readFileSync(`${directory}/${file}`, 'utf8');
    await expect(await playLines(text, new ReplicaWorld(), commands)).toMatchFileSnapshot(`./${file}`);
  });
});
