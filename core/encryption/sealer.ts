/**
 * Seals single values of a store with AES-256-GCM, and opens them again. A sealed value is: 2 bytes 0xff, `B`, 1 byte version, 8 bytes key id, 12 bytes nonce,
 * the sealed bytes, 16 bytes tag.
 *
 * The authenticated place of a value is the id of the store and the key of the row. So a sealed value opens only in its own row of its own store: nobody can
 * move it to another row. A former value of the same row does open: the store as a whole is not protected against a return to an earlier state.
 *
 * Nonces are random. NIST SP 800-38D allows 2^32 values for one key then. A node that writes a hundred Secrets a second reaches this number after 16 months.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { BanyanError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import { asBuffer } from '../store/bytes.ts';
import type { SealingKey } from './sealing-keys.ts';

/** No clear value begins with these bytes: rows begin with a length or a revision, which are far smaller, or with the first character of a text. */
const magic = Buffer.of(0xff, 0xff, 0x42, 1);
const idBytes = 8;
const nonceBytes = 12;
const tagBytes = 16;
const nonceAt = magic.length + idBytes;
const headBytes = nonceAt + nonceBytes;

export class Sealer {
  readonly #store: Buffer;
  readonly #random: Random;
  #first!: SealingKey;
  readonly #keys = new Map<string, SealingKey>();

  /** `storeId`: 16 bytes. `keys`: the first one seals, all of them open. */
  constructor(storeId: Uint8Array, keys: readonly SealingKey[], random: Random) {
    this.#store = Buffer.from(storeId);
    this.#random = random;
    this.use(keys);
  }

  /** The id of the key that seals. */
  get firstId(): string {
    return this.#first.id;
  }

  /** Seals with the first of these keys from now on. Keys of earlier calls go on opening values. */
  use(keys: readonly SealingKey[]): void {
    this.#first = keys[0]!;
    for (const key of keys) this.#keys.set(key.id, key);
  }

  seal(rowKey: Uint8Array, value: Uint8Array): Uint8Array {
    const sealed = Buffer.allocUnsafe(headBytes + value.length + tagBytes);
    sealed.set(magic, 0);
    sealed.write(this.#first.id, magic.length, 'hex');
    sealed.set(this.#random.bytes(nonceBytes), nonceAt);
    const cipher = createCipheriv('aes-256-gcm', this.#first.bytes, sealed.subarray(nonceAt, headBytes));
    cipher.setAAD(this.#place(rowKey));
    sealed.set(cipher.update(value), headBytes);
    cipher.final();
    sealed.set(cipher.getAuthTag(), headBytes + value.length);
    return sealed;
  }

  /** Returns a clear value as it is. Throws StoreCorrupt for a value of an unknown key, of another row, or with changed bytes. */
  open(rowKey: Uint8Array, value: Uint8Array): Uint8Array {
    const id = keyIdOf(value);
    if (id === undefined) return value;
    const key = this.#keys.get(id);
    if (!key) throw corrupt(`a value of the store is sealed with the key ${id}; put this key back into the key file`);
    if (value.length < headBytes + tagBytes) throw corrupt('a sealed value of the store is cut short');
    const end = value.length - tagBytes;
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, value.subarray(nonceAt, headBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(this.#place(rowKey));
    decipher.setAuthTag(value.subarray(end));
    const clear = decipher.update(value.subarray(headBytes, end));
    try {
      decipher.final();
    } catch (cause) {
      throw corrupt('a sealed value of the store was changed, or is not of its row', cause);
    }
    return clear;
  }

  #place(rowKey: Uint8Array): Buffer {
    return Buffer.concat([this.#store, rowKey]);
  }
}

/** The id of the key with which the value is sealed. Undefined: the value is clear. */
export function keyIdOf(value: Uint8Array): string | undefined {
  if (value[0] !== 0xff || value.length < headBytes) return undefined;
  for (let at = 1; at < magic.length; at++) if (value[at] !== magic[at]) return undefined;
  return asBuffer(value).toString('hex', magic.length, nonceAt);
}

function corrupt(message: string, cause?: unknown): BanyanError {
  return new BanyanError('StoreCorrupt', `${message}; or restore a backup, or let the node start empty`, {}, { cause });
}
