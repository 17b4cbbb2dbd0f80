/**
 * Renderings by what they read. An entry says either what is read next or what came out: from the key of an input, each value read leads to
 * the entry that comes after it, so that a lookup reads at a destination exactly what the evaluation would read, and needs no list of all values
 * there are. A thousand destinations with three distinct values are three paths.
 */
import { hash128 } from '../object/hash.ts';
import type { DestinationFacts, Rendered } from './customizer.ts';
import { observe, type Read, type ReadObservation, Recorder } from './reads.ts';

export interface Rendering extends Rendered {
  /** While all of it still holds, another evaluation would give the same. */
  readonly trace: readonly ReadObservation[];
}

export interface RenderCacheBounds {
  readonly entriesMax: number;
  readonly bytesMax: number;
}

/**
 * Entries are a few hundred bytes each, bodies as large as objects. 64 MiB is a quarter of what a relay of a thousand clusters uses; beyond it
 * the longest unused goes, and is evaluated again when it is asked for: a matter of tenths of milliseconds.
 */
export const defaultCacheBounds: RenderCacheBounds = { entriesMax: 100_000, bytesMax: 64 * 1024 * 1024 };

type CacheEntry = { readonly read: Read } | { readonly rendering: Rendering };

/** A longer key is hashed: up to here text is quicker. */
const keyCharactersMax = 256;
/** What an entry takes beside a body or the values that were seen. */
const entryBytes = 400;

export class RenderCache {
  readonly #bounds: RenderCacheBounds;
  /** The longest unused first. */
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

  /** What is known for a destination that has these values; `key` names all that the evaluation depends on besides. */
  find(key: string, facts: DestinationFacts): Rendering | undefined {
    const found = this.#find(key, facts);
    if (found) this.hits += 1;
    return found;
  }

  /** `run` has no other input than `key` names, but for the facts that it reads through the recorder. */
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

/** What was seen is JSON, which has no line ends of its own, and keys begin with a hash: no two ways lead to one entry. */
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
