/** Finds the traces of a secret text in files: the text itself, and every form that base64 gives to the text. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * The texts that show a secret: the secret itself, its hex digits, and its base64 at each of the three places that it may have in longer bytes. Base64 of base64
 * has the same three places.
 */
export function formsOf(secret: string): readonly string[] {
  const once = base64Of(secret);
  return [secret, Buffer.from(secret).toString('hex'), ...once, ...once.flatMap(base64Of)];
}

/** The files below the folder that have one of the texts, as paths below the folder. */
export function filesWith(texts: readonly string[], folder: string): string[] {
  const wanted = texts.map((text) => Buffer.from(text));
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readFileSync(file);
      return wanted.some((text) => bytes.includes(text));
    })
    .map((file) => relative(folder, file))
    .sort();
}

/** Bytes before and after the text change the first and last letters. So these letters are left out. */
function base64Of(text: string): string[] {
  return [0, 1, 2].map((before) => {
    const letters = Buffer.from('\0'.repeat(before) + text).toString('base64');
    return letters.slice(before === 0 ? 0 : 4, letters.length - 4);
  });
}
