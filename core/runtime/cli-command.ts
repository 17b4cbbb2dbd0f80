/**
 * The command line that people must type in this installation. In a checkout, `banyan` is not on the PATH, but npm finds it. This file runs as a `.ts`
 * source only in a checkout: a package has all sources in bundles.
 */
const command = import.meta.url.endsWith('.ts') ? 'npm exec -- banyan' : 'banyan';

/** The command with these arguments, for example `npm exec -- banyan tree --data /var/lib/banyan`. */
export function cliCommand(...words: readonly string[]): string {
  return [command, ...words.map(shellWord)].join(' ');
}

/** The text, quoted if necessary, so that a POSIX shell reads it as one word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
