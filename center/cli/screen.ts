/** The output of commands on a terminal beyond plain lines: colours, and a text that is updated in place. */
import { describeError } from '../../core/runtime/errors.ts';

export interface Screen {
  readonly isTerminal: boolean;
  /** False for a file or pipe, and where the environment refuses colours: NO_COLOR (https://no-color.org), TERM=dumb. */
  readonly hasColours: boolean;
  write(text: string): void;
}

/** The standard output of this process. */
export function ownScreen(): Screen {
  const { stdout } = process;
  // https://nodejs.org/api/tty.html#writestreamhascolorscount-env: Node looks at NO_COLOR, FORCE_COLOR and TERM.
  const hasColours = stdout.isTTY === true && (process.env.NO_COLOR ?? '') === '' && stdout.hasColors();
  return { isTerminal: stdout.isTTY === true, hasColours, write: (text) => void stdout.write(text) };
}

/** States by the colour that they have on a terminal, as whole words. Numbers: https://en.wikipedia.org/wiki/ANSI_escape_code#Colors */
const colours: readonly (readonly [colour: number, words: RegExp])[] = [
  [32, /(?<![\w=-])(?:Connected|Ready)(?![\w=-])|\bReady=True\b/g],
  [33, /(?<![\w=-])(?:Never|Stale|Progressing|Unknown)(?![\w=-])|\bnever\b|\b[1-9]\d* stale\b/g],
  [31, /(?<![\w=-])(?:Disconnected|Failing|unreachable|unknown)(?![\w=-])|\bReady=False\b|\b[1-9]\d* failed\b/g],
];

/** The text, with colours for states where the screen has colours. Done after a table is laid out: colours have no width. */
export function coloured(text: string, { hasColours }: Pick<Screen, 'hasColours'>): string {
  if (!hasColours) return text;
  return colours.reduce((shown, [colour, words]) => shown.replace(words, `\x1b[${colour}m$&\x1b[39m`), text);
}

/** Interval of `--watch`. */
const watchEveryMs = 1_000;

/** Shows a text, and with `watch` again every second: in place on a terminal. While a text can't be made, the reason is shown. Ends only without `watch`. */
export async function showOn(make: () => Promise<string>, watch: boolean, screen: Screen): Promise<void> {
  if (!watch) return screen.write(`${coloured(await make(), screen)}\n`);
  if (screen.isTerminal) screen.write('\x1b[2J');
  for (;;) {
    const text = await make().catch((error: unknown) => describeError(error));
    screen.write(screen.isTerminal ? inPlace(coloured(text, screen)) : `${text}\n`);
    await new Promise((done) => setTimeout(done, watchEveryMs));
  }
}

/** Overwrites each line and clears its rest, then clears what is left below. So nothing flickers. */
function inPlace(text: string): string {
  return `\x1b[H${text.replaceAll('\n', '\x1b[K\n')}\x1b[K\n\x1b[J`;
}
