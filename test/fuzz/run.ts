/** `npm run fuzz -- --minutes M [--seed S]`: ends with 1 when a promise was broken, and stores the conversation that broke it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../core/runtime/random.ts';
import type { Side } from '../support/one-side.ts';
import { type Conversation, mutated } from './mutate.ts';
import { broken } from './promises.ts';

const { minutes, seed } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } }).values;
const first = Number(seed ?? Date.now() % 1_000_000);
const until = performance.now() + Number(minutes ?? 1) * 60_000;
const directory = join(import.meta.dirname, 'corpus');
const corpus = readdirSync(directory).map((file) => ({
  side: file.split('-')[0] as Side,
  frames: readFileSync(join(directory, file), 'utf8')
    .split('\n')
    .map((line): Buffer => Buffer.from(line, 'hex')),
}));
const of = (side: Side): Conversation[] => corpus.filter((one) => one.side === side).map(({ frames }) => frames);
const both = { parent: of('parent'), child: of('child') };

let runs = 0;
let found = 0;
for (; performance.now() < until && found === 0; runs++) {
  const side: Side = runs % 2 === 0 ? 'parent' : 'child';
  const frames = mutated(new SeededRandom(first + runs), both[side]);
  const promise = await broken(side, frames);
  if (promise === undefined) continue;
  found++;
  const file = join(directory, `${side}-seed-${first + runs}.txt`);
  writeFileSync(file, frames.map((frame) => frame.toString('hex')).join('\n'));
  console.log(`${promise}\nkept as ${file}`);
}
console.log(`runs ${runs}, broken promises ${found}, seeds ${first} to ${first + runs - 1}`);
process.exit(found > 0 ? 1 : 0);
