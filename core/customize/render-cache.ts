/**
 * Caches renderings, keyed by the values that each rendering has read.
 *
 * An entry holds either the next read or the rendering. A lookup begins with the key of the input. The result of each read leads to the next entry. So a
 * lookup reads exactly those values of a destination that the evaluation would read, and needs no list of all values. If a thousand destinations have three
 * different values, the cache has three chains of entries.
 */
import { hash128 } from '../object/hash.ts';
import type { DestinationFacts, Rendered } from './customizer.ts';
import { observe, type Read, type ReadObservation, Recorder } from './reads.ts';

export interface Rendering extends Rendered {
  /** If each read of the trace gives the same result, another evaluation gives the same rendering. */
  readonly trace: readonly ReadObservation[];
}

export interface RenderCacheBounds {
  readonly entriesMax: number;
  readonly bytesMax: number;
}

/**
 * An entry needs a few hundred bytes, and a body needs as many as its object. 64 MiB is a quarter of the memory of a relay with a thousand clusters. At the
 * bounds, the cache removes the entry that was unused for the longest time. The next request evaluates it again, which takes a few tenths of a millisecond.
 */
export const defaultCacheBounds: RenderCacheBounds = { entriesMax: 100_000, bytesMax: 64 * 1024 * 1024 };

type CacheEntry = { readonly read: Read } | { readonly rendering: Rendering };

/** The cache hashes longer keys. Up to this length, the plain text is faster. */
const keyCharactersMax = 256;
/** Bytes of an entry, not counting its body and the recorded values. */
const entryBytes = 400;

export class RenderCache {
  readonly #bounds: RenderCacheBounds;
  /** In the order of the last use; the entry that was unused for the longest time is first. */
  readonly #entries = new Map<string, CacheEntry>();
  #bytes = 0;
  evaluations = 0;
  hits = 0;

  constructor(bounds: RenderCacheBounds = defaultCacheBounds) {
    this.#bounds = bounds;
  }

  get size(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#entries.size, bytes: this.#bytes };
  }

  /** The cached rendering for a destination with these values. `key` names every other input of the evaluation. */
  find(key: string, facts: DestinationFacts): Rendering | undefined {
    const found = this.#find(key, facts);
    if (found) this.hits += 1;
    return found;
  }

  /**
   * Returns the cached rendering, or runs `run` and caches its result. `run` must not depend on anything except the inputs that `key` names and the facts
   * that it reads through the recorder.
   */
  evaluate(key: string, facts: DestinationFacts, run: (recorder: Recorder) => Rendered): Rendering {
    this.evaluations += 1;
    const recorder = new Recorder(facts);
    const rendering = { ...run(recorder), trace: recorder.trace };
    this.#keep(key, rendering);
    return rendering;
  }

  #find(key: string, facts: DestinationFacts): Rendering | undefined {
    for (let at = key; ; ) {
      const entry = this.#entries.get(at);
      if (!entry) return undefined;
      this.#entries.delete(at);
      this.#entries.set(at, entry);
      if ('rendering' in entry) return entry.rendering;
      at = nextKey(at, observe(facts, entry.read));
    }
  }

  #keep(key: string, rendering: Rendering): void {
    let at = key;
    for (const { read, saw } of rendering.trace) {
      this.#set(at, { read });
      at = nextKey(at, saw);
    }
    this.#set(at, { rendering });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= this.#bounds.entriesMax && this.#bytes <= this.#bounds.bytesMax) return;
      this.#entries.delete(oldest);
      this.#bytes -= bytesOf(entry);
    }
  }

  #set(at: string, entry: CacheEntry): void {
    const before = this.#entries.get(at);
    if (before) this.#bytes -= bytesOf(before);
    this.#entries.delete(at);
    this.#entries.set(at, entry);
    this.#bytes += bytesOf(entry);
  }
}

/**
 * The key of the next entry. Joins both parts with a line end. Recorded values are JSON without line ends, and keys begin with a hash. So two different
 * chains never lead to one entry.
 */
function nextKey(at: string, saw: string): string {
  const next = `${at}\n${saw}`;
  return next.length <= keyCharactersMax ? next : Buffer.from(hash128(next)).toString('latin1');
}

function bytesOf(entry: CacheEntry): number {
  if ('read' in entry) return entryBytes;
  const { outcome, trace } = entry.rendering;
  const seen = trace.reduce((sum, { saw }) => sum + entryBytes + 2 * saw.length, 0);
  return entryBytes + seen + ('body' in outcome ? outcome.body.length : 2 * outcome.failure.message.length);
}
