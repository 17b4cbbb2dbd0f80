/**
 * Prints a command as people have to type it here. In a checkout, there is no `banyan` on the PATH, but npm finds it. Only a checkout runs this file as a
 * `.ts` source; a package has all sources in bundles.
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
