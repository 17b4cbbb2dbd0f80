/** StatusSummarizers, compiled once for each of their specifications. */
import { CelError } from '../../../core/match/cel/cel-error.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import type { Reader } from '../../../core/store/store.ts';
import { compileSummarizer, type Summarizer } from '../../../core/summary/summarizer.ts';
import type { SummarizerSpec } from '../../../core/summary/summarizer-spec.ts';

export class CompiledSummarizers {
  readonly #specOf: (reader: Reader, source: string, name: string) => SummarizerSpec | undefined;
  /** Keyed by source and name: the newest specification only. */
  readonly #compiled = new Map<string, { text: string; summarizer: Summarizer | string }>();

  constructor(specOf: (reader: Reader, source: string, name: string) => SummarizerSpec | undefined) {
    this.#specOf = specOf;
  }

  /** Returns the compiled summarizer, or the reason why there is none. */
  of(reader: Reader, source: string, name: string): Summarizer | string {
    const spec = this.#specOf(reader, source, name);
    const key = `${source}/${name}`;
    if (!spec) {
      this.#compiled.delete(key);
      return `StatusSummarizer ${JSON.stringify(name)} does not exist in this space: create it, or take it out of the placement's statusSummarizers`;
    }
    const text = stableStringify(spec);
    const cached = this.#compiled.get(key);
    if (cached?.text === text) return cached.summarizer;
    const summarizer = compiled(name, spec);
    this.#compiled.set(key, { text, summarizer });
    return summarizer;
  }
}

function compiled(name: string, spec: SummarizerSpec): Summarizer | string {
  try {
    return compileSummarizer(spec);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return `StatusSummarizer ${JSON.stringify(name)} does not compile: ${error.message}`;
  }
}
