/**
 * A command for people to type, as it runs where this program came from: a checkout has no `banyan` on the PATH, and npm finds it there. Sources run as they
 * are in a checkout alone; a package has them bundled.
 */
const command = import.meta.url.endsWith('.ts') ? 'npm exec -- banyan' : 'banyan';

/** `npm exec -- banyan tree --data /var/lib/banyan` */
export function cliCommand(...words: readonly string[]): string {
  return [command, ...words.map(shellWord)].join(' ');
}

/** The text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
