/** The formats of everything that commands print: a text for people, and the forms of `-o` for programs. */
import { Option } from 'commander';
import { stringify } from 'yaml';

const formats = ['json', 'yaml', 'wide', 'name'] as const;

export type OutputFormat = (typeof formats)[number];

export interface Output {
  /** For `json` and `yaml`. */
  readonly data: unknown;
  /** For `name`: `KIND.GROUP/NAME`, as kubectl prints names. */
  readonly names: readonly string[];
  readonly text: string;
  /** The text with more columns. */
  readonly wide: string;
}

/** For `outputOption`: the format `wide` is the text. */
export const noMore = 'the same as without -o';

/** `wide`: what this format adds to the text. */
export function outputOption(wide: string): Option {
  return new Option('-o, --output <format>', `json or yaml; name: only names; wide: ${wide}`).choices(formats);
}

export function printed({ data, names, text, wide }: Output, format: OutputFormat | undefined): string {
  switch (format) {
    case 'json':
      return JSON.stringify(data, null, 2);
    case 'yaml':
      return stringify(data, { aliasDuplicateObjects: false }).trimEnd();
    case 'name':
      return names.join('\n');
    case 'wide':
      return wide;
    case undefined:
      return text;
  }
}
