/**
 * Contents that many mailboxes have, read from the store once while they go out to all of them. A content is found by its hash and never changes, so a cached
 * content can't be stale. The cache has the contents that were read last; when it becomes too large, all of it is dropped.
 */
import { asBuffer } from '../store/bytes.ts';
import type { Reader } from '../store/store.ts';
import { readContent } from './content.ts';
import type { Content, ContentReference } from './feed.ts';

/** Some sixteen batches: the contents that a change of a few placements sends to every child. A larger change clears the cache, and loses little by it. */
export const sharedBytesMax = 1024 * 1024;

export class SharedContents {
  readonly #cache = new Map<string, Content>();
  #bytes = 0;
  /** The content that was read last, found by the identical hash object: children that get the same entry ask for it one after the other. */
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
