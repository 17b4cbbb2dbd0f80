/** Commands of transcripts about byte streams, and their world: routers of a few nodes, their ends, virtual time. */
import { echoEndpoint } from '../../../core/stream/echo.ts';
import { type ResetCode, resetCodes } from '../../../core/stream/stream.ts';
import type { Frame } from '../../../core/wire/generated/mesh.ts';
import { StreamLog, StreamTree } from '../../support/stream-tree.ts';

/** Plays the commands of a transcript and returns the whole text as it should be. */
export async function playStreams(text: string): Promise<string> {
  const world = new StreamWorld();
  const out: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || (line === '' && out.at(-1) !== '')) out.push(line);
    if (!line.startsWith('> ')) continue;
    if (out.length > 0 && out.at(-1) !== '' && !out.at(-1)!.startsWith('#')) out.push('');
    out.push(line);
    await world.perform(line.slice(2));
    out.push(...world.takeLines());
  }
  while (out.at(-1) === '') out.pop();
  return `${out.join('\n')}\n`;
}

class StreamWorld {
  #tree = new StreamTree([]);
  readonly #ends = new Map<string, StreamLog>();
  readonly #eventsShown = new Map<string, number>();
  readonly #lines: { readonly atMs: number; readonly line: string }[] = [];
  #begunMs = 0;
  #framesShown = 0;

  async perform(line: string): Promise<void> {
    const [name = '', ...args] = line.trim().split(/ +/);
    const command = this.#commands[name];
    if (!command)
      throw new Error(`"${line}": there is no command "${name}"; there are ${Object.keys(this.#commands).join(', ')}`);
    await command(...args);
  }

  takeLines(): string[] {
    const lines = this.#lines.splice(0);
    for (const { atMs, from, to, frame } of this.#tree.frames.slice(this.#framesShown)) {
      lines.push({ atMs, line: `${nameOf(from)} > ${nameOf(to)}  ${frameAsText(frame)}` });
    }
    this.#framesShown = this.#tree.frames.length;
    return lines
      .sort((a, b) => a.atMs - b.atMs)
      .map(({ atMs, line }) => `${String(Math.round(atMs - this.#begunMs)).padStart(7)}  ${line}`);
  }

  readonly #commands: { readonly [name: string]: (...args: string[]) => unknown } = {
    // tree PATH...: with a session for each; `below` lets children ask
    tree: async (...paths) => {
      const below = paths[0] === 'below';
      this.#tree = await new StreamTree(below ? paths.slice(1) : paths, { fromBelow: below }).attach();
      this.#begunMs = this.#tree.clock.monotonicMs();
    },
    // serve PATH echo | NAME: the accepted ends get the name NAME
    serve: (path, what) =>
      this.#tree.register(pathOf(path), 'test', (offer) => {
        if (what === 'echo') echoEndpoint(offer);
        else if (what !== 'nothing') this.#end(what!, new StreamLog((handler) => offer.accept(handler)));
      }),
    // open NAME FROM TO [MS] [USER]
    open: (name, from, to, deadlineMs = '5000', user = 'admin') =>
      this.#end(
        name!,
        this.#tree.open(pathOf(from), {
          path: pathOf(to),
          deadlineMs: Number(deadlineMs),
          user,
          groups: user === 'admin' ? ['system:masters'] : [],
        }),
      ),
    write: (name, text) =>
      this.#log(name).stream.write(/^\d+$/.test(text!) ? Buffer.alloc(Number(text)) : Buffer.from(text!)),
    end: (name) => this.#log(name).stream.end(),
    stall: (name) => {
      this.#log(name).stalled = true;
    },
    read: (name, bytes) => this.#log(name).stream.consumed(Number(bytes)),
    reset: (name, code) =>
      this.#log(name).stream.reset({ code: code as ResetCode, message: 'so it is', at: nameOf('') }),
    cut: (path) => this.#tree.cut(pathOf(path)),
    silence: (...paths) => {
      this.#tree.isSilent = (path) => paths.map(pathOf).includes(path);
    },
    run: async (time) => {
      const ms = Number(/^(\d+)ms$/.exec(time!)?.[1]);
      for (let done = 0; done < ms; done++) {
        await this.#tree.run(1);
        this.#noteEvents();
      }
    },
    show: () => {
      for (const [name, { writtenBytes, receivedBytes }] of this.#ends) {
        this.#note(`${name}: ${writtenBytes} bytes have left, ${receivedBytes} have come`);
      }
      this.#note(`ends that are open: ${this.#tree.openEnds()}`);
    },
  };

  #end(name: string, log: StreamLog): void {
    this.#ends.set(name, log);
    this.#eventsShown.set(name, 0);
  }

  #log(name: string | undefined): StreamLog {
    return this.#ends.get(name!)!;
  }

  #noteEvents(): void {
    for (const [name, log] of this.#ends) {
      for (const event of log.events.slice(this.#eventsShown.get(name))) {
        const { reset } = log;
        const since = reset?.sinceMs === undefined ? '' : `, ${reset.sinceMs} ms ago`;
        const why = event.startsWith('reset') ? ` by ${nameOf(reset!.at)}: ${reset!.message}${since}` : '';
        this.#note(`${name}: ${event}${why}`);
      }
      this.#eventsShown.set(name, log.events.length);
    }
  }

  #note(line: string): void {
    this.#lines.push({ atMs: this.#tree.clock.monotonicMs(), line });
  }
}

function frameAsText({ frame }: Frame): string {
  switch (frame?.$case) {
    case 'open': {
      const { stream, path, kind, user, deadlineMs, creditBytes } = frame.value;
      return `open ${stream}: ${kind} at ${nameOf(path)} for ${user}, ${deadlineMs} ms left, credit ${creditBytes}`;
    }
    case 'data':
      return `data ${frame.value.stream}: ${frame.value.data.length} bytes`;
    case 'credit':
      return `credit ${frame.value.stream}: ${frame.value.bytes}`;
    case 'fin':
      return `fin ${frame.value.stream}`;
    case 'reset': {
      const { stream, code, at, message } = frame.value;
      const name = Object.entries(resetCodes).find(([, value]) => value === code)?.[0];
      return `reset ${stream}: ${name} by ${nameOf(at)}: ${message}`;
    }
    case 'census':
      return `census ${frame.value.streams.join(' ')}`;
    case undefined:
      return 'sign of life';
    default:
      return `${frame?.$case}`;
  }
}

function pathOf(name: string | undefined): string {
  return name === 'center' ? '' : name!;
}

function nameOf(path: string): string {
  return path === '' ? 'center' : path;
}
