/** The commands of a documentation page, and what the page says of their output. */

export interface Block {
  readonly commands: string;
  /** The lines of the `text` block that follows. */
  readonly output: readonly string[];
}

/** The `sh` blocks of a page. `plain` takes out of a line what differs from run to run. */
export function blocksOf(page: string, plain: (line: string) => string): Block[] {
  const blocks: { commands: string; output: string[] }[] = [];
  for (const [, kind, text = ''] of page.matchAll(/^```(sh|text)\n(.*?)^```$/gms)) {
    if (kind === 'sh') blocks.push({ commands: text, output: [] });
    else blocks.at(-1)!.output.push(...text.trimEnd().split('\n').map(plain));
  }
  return blocks;
}
