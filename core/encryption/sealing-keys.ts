/** The keys of a node, as the text of a key file: one key a line, 32 bytes in base64. Empty lines and lines that begin with `#` do not count. */
import { createHash } from 'node:crypto';
import { BanyanError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';

export interface SealingKey {
  /** 16 hex digits. The id follows from the key, so nobody has to choose ids, and a key can't have the id of another key. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** AES-256. */
const keyBytes = 32;
/** More keys than a person needs: an old key goes from the file after `banyan rekey`. */
const keysMax = 16;
const idLabel = 'banyan key id 1';

export function sealingKey(bytes: Buffer): SealingKey {
  const id = createHash('sha256').update(idLabel).update(bytes).digest('hex').slice(0, 16);
  return { id, bytes };
}

/**
 * Reads the keys, the first one first. `from` names the place of the text in messages. Throws BadRequest with the line, and never with the content of the
 * line, because the line may be a damaged key.
 */
export function parseKeys(text: string, from: string): readonly SealingKey[] {
  const keys: SealingKey[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    const word = line.trim();
    if (word === '' || word.startsWith('#')) continue;
    const bytes = Buffer.from(word, 'base64');
    if (bytes.toString('base64') !== word) throw badKeys(`${from}: line ${at + 1} is no base64; ${remedy}`);
    if (bytes.length !== keyBytes) {
      throw badKeys(`${from}: line ${at + 1} has ${bytes.length} bytes, and a key has ${keyBytes}; ${remedy}`);
    }
    const key = sealingKey(bytes);
    if (keys.some(({ id }) => id === key.id)) throw badKeys(`${from}: line ${at + 1} repeats a key; remove the line`);
    keys.push(key);
  }
  if (keys.length === 0) throw badKeys(`${from}: has no key; ${remedy}`);
  if (keys.length > keysMax)
    throw badKeys(`${from}: has ${keys.length} keys; keep at most ${keysMax}: remove the oldest ones at the end`);
  return keys;
}

/** The text of a key file with these keys. */
export function formatKeys(keys: readonly SealingKey[]): string {
  const lines = keys.map(({ bytes }) => bytes.toString('base64'));
  return ['# The first key writes, all keys read. See docs/operations/encryption.md.', ...lines, ''].join('\n');
}

export function newSealingKey(random: Random): SealingKey {
  return sealingKey(Buffer.from(random.bytes(keyBytes)));
}

const remedy = 'write 32 random bytes in base64: openssl rand -base64 32';

function badKeys(message: string): BanyanError {
  return new BanyanError('BadRequest', message);
}
