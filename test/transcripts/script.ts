/**
 * A transcript: commands, and after each the events that followed. `#` begins a comment, `>` a command; all other lines are golden text, which `npm test --
 * --update test/transcripts` writes again.
 */
import { BanyanError } from '../../core/runtime/errors.ts';
import { fairWeather, type Side } from './line.ts';
import { World } from './world.ts';

/** The world that a transcript controls. */
interface Stage {
  run(ms: number): Promise<void>;
  takeLines(): string[];
}

type Commands<W> = { readonly [name: string]: (world: W, ...args: string[]) => unknown };

/** Plays the commands of a transcript and returns the whole text as it should be. */
export function play(text: string): Promise<string> {
  return playLines(text, new World(), commands);
}

/** The same with another world and commands of its own, beside `run TIME`. */
export async function playLines<W extends Stage>(text: string, world: W, known: Commands<W>): Promise<string> {
  const out: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || (line === '' && out.at(-1) !== '')) out.push(line);
    if (!line.startsWith('> ')) continue;
    if (out.length > 0 && out.at(-1) !== '' && !out.at(-1)!.startsWith('#')) out.push('');
    out.push(line);
    const shown = await perform(world, known, line.slice(2));
    out.push(...world.takeLines(), ...shown);
  }
  while (out.at(-1) === '') out.pop();
  return `${out.join('\n')}\n`;
}

async function perform<W extends Stage>(world: W, known: Commands<W>, line: string): Promise<string[]> {
  const [name = '', ...args] = line.trim().split(/ +/);
  const command = name === 'run' ? (on: W, time = '') => on.run(milliseconds(time)) : known[name];
  if (!command)
    throw new Error(`"${line}": there is no command "${name}"; there are run, ${Object.keys(known).join(', ')}`);
  try {
    const shown = await command(world, ...args);
    return Array.isArray(shown) ? shown.map(String) : [];
  } catch (error) {
    if (error instanceof BanyanError) return [`error: ${error.message}`];
    throw error;
  }
}

const commands: Commands<World> = {
  start: (world, name) => world.start(name!),
  end: (world, name) => world.end(name!),
  crash: (world, name, how) => world.crash(name!, how === 'silently'),
  stop: (world, name) => world.stop(name!),
  continue: (world, name) => world.goOn(name!),
  // put NAME KEY BODY [ORIGIN_REVISION]
  put: (world, name, key, body, revision = '0') => world.put(name!, key!, body!, Number(revision)),
  // fill NAME KEY COUNT BODY_BYTES: numbered keys
  fill: (world, name, key, count, bytes) => {
    for (let i = 1; i <= Number(count); i++) world.put(name!, `${key}${i}`, 'x'.repeat(Number(bytes)));
  },
  // put-large NAME KEY BODY_BYTES
  'put-large': (world, name, key, bytes) => world.put(name!, key!, 'x'.repeat(Number(bytes))),
  remove: (world, name, key) => world.remove(name!, key!),
  'lose-row': (world, name, key) => world.loseRow(name!, key!),
  ready: (world, name, answer) => world.setReady(name!, answer === 'yes'),
  show: (world, name) => world.show(name!),
  empty: (world, name) => world.empty(name!),
  copy: (world, from, to) => world.copy(from!, to!),
  restore: (world, name, from) => world.copy(from!, name!),
  'flush-by-hand': (world, name) => world.flushByHand(name!),
  flush: (world, name) => world.store(name!).completeFlush(),
  'disk-full': (world, name) => world.diskFull(name!),
  'wall-clock': (world, name, offset) => world.setWallOffset(name!, milliseconds(offset!)),
  // say NAME WORD NUMBERS: a frame that the process itself would not send (false-frames.ts)
  say: (world, name, frame, ...numbers) => world.inject(name!, frame!, numbers.map(Number)),
  // versions NAME MIN MAX: the versions in its hellos
  versions: (world, name, min, max) => world.setVersions(name!, Number(min), Number(max)),
  // Processes of children that start from now on work on their rows; the body `deadly` ends them.
  work: (world) => {
    world.works = true;
  },
  // TLS is terminated on the way, from now on (terminated.ts).
  terminate: (world) => world.terminate(),
  // identify SIDE PATH ROLE: the certificate of that side
  identify: (world, side, path, role) => world.identify(side!, path!, role!),
  // meddle changes|repeats: the next hello
  meddle: (world, how) => world.meddle(how!),
  'hide-beats': (world) => {
    world.beats = false;
  },
  // Commands about the line of a child's process.
  cut: (world, name) => {
    world.line(name!).cut = true;
    world.line(name!).break();
  },
  mend: (world, name) => {
    const line = world.line(name!);
    line.cut = false;
    for (const side of ['child', 'parent'] as const) Object.assign(line.weather[side], fairWeather());
  },
  break: (world, name) => world.line(name!).break(),
  swallow: (world, name, from) => {
    for (const side of sidesOf(from!)) world.line(name!).weather[side].silent = true;
  },
  duplicate: (world, name, from, count) => {
    world.line(name!).weather[from as Side].twice = Number(count);
  },
  swap: (world, name, from) => {
    world.line(name!).weather[from as Side].swap = true;
  },
  'break-after': (world, name, from, count) => {
    world.line(name!).weather[from as Side].breaksAfter = Number(count);
  },
  rate: (world, name, bytesPerSecond, bufferBytes) => {
    world.line(name!).bytesPerSecond = Number(bytesPerSecond);
    world.line(name!).bufferBytes = Number(bufferBytes);
  },
};

function sidesOf(side: string): Side[] {
  return side === 'both' ? ['child', 'parent'] : [side as Side];
}

function milliseconds(text: string): number {
  const match = /^([+-]?\d+)(ms|s|min|h)$/.exec(text);
  if (!match) throw new Error(`"${text}" is no time: use ms, s, min or h`);
  return Number(match[1]) * { ms: 1, s: 1000, min: 60_000, h: 3_600_000 }[match[2] as 'ms' | 's' | 'min' | 'h'];
}
