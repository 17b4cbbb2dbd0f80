/**
 * Contents that many mailboxes have, read from the store once while they go out to all of them. A content is found by its hash and never changes, so
 * what is kept can't be stale; it is the newest that were asked for, and all of it goes when it has become too much.
 */
import { asBuffer } from '../store/bytes.ts';
import type { Reader } from '../store/store.ts';
import { readContent } from './content.ts';
import type { Content, ContentReference } from './feed.ts';

/** Some sixteen batches: what a change of a few placements sends to every child. Larger ones begin anew and lose little. */
export const sharedBytesMax = 1024 * 1024;

export class SharedContents {
  readonly #known = new Map<string, Content>();
  #bytes = 0;
  /** What was asked for last, by the very bytes of its hash: children that get one entry ask one after the other. */
  #last: { readonly hash: Uint8Array; readonly content: Content } | undefined;
  /** Reads of the store, since the start. */
  reads = 0;

  read(reader: Reader, reference: ContentReference): Content {
    if (this.#last?.hash === reference.hash) return this.#last.content;
    const content = this.#find(reader, reference);
    this.#last = { hash: reference.hash, content };
    return content;
  }

  #find(reader: Reader, reference: ContentReference): Content {
    const hash = asBuffer(reference.hash).toString('latin1');
    const known = this.#known.get(hash);
    if (known) return known;
    const content = readContent(reader, reference);
    this.reads++;
    const bytes = content.attributes.length + content.body.length;
    if (this.#bytes + bytes > sharedBytesMax) {
      this.#known.clear();
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    this.#known.set(hash, content);
    return content;
  }
}
