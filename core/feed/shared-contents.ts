/**
 * A cache of contents that many mailboxes have, so that the node reads a content once and sends it to all children. The key of the cache is the hash of the
 * content, and a content never changes, so a cached content cannot be outdated. When the cache becomes too large, all of it is dropped.
 */
import { asBuffer } from '../store/bytes.ts';
import type { Reader } from '../store/store.ts';
import { readContent } from './content.ts';
import type { Content, ContentReference } from './feed.ts';

/**
 * Limit for the cache: about 16 batches. This is enough for the contents of a change of a few placements, which go to every child. A larger change clears the
 * cache in the middle, which costs only a few more reads.
 */
export const sharedBytesMax = 1024 * 1024;

export class SharedContents {
  readonly #cache = new Map<string, Content>();
  #bytes = 0;
  /** The newest read content. Children that get the same entry read it one after the other, with the identical hash object, so no lookup is needed. */
  #last: { readonly hash: Uint8Array; readonly content: Content } | undefined;
  /** Number of reads of the store since the start. */
  reads = 0;

  read(reader: Reader, reference: ContentReference): Content {
    if (this.#last?.hash === reference.hash) return this.#last.content;
    const content = this.#find(reader, reference);
    this.#last = { hash: reference.hash, content };
    return content;
  }

  #find(reader: Reader, reference: ContentReference): Content {
    const hash = asBuffer(reference.hash).toString('latin1');
    const cached = this.#cache.get(hash);
    if (cached) return cached;
    const content = readContent(reader, reference);
    this.reads++;
    const bytes = content.attributes.length + content.body.length;
    if (this.#bytes + bytes > sharedBytesMax) {
      this.#cache.clear();
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    this.#cache.set(hash, content);
    return content;
  }
}
