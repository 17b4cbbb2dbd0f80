/** How far each object has come that is wanted: what its work has ended with last, about the content that it was done for. */
import type { Delivery } from '../desired/desired.ts';

/** The reason of an object that the cluster has not been asked about. */
export const unasked = 'Pending';

/** About the delivery that wins at the time. */
export type ApplyProgress = ApplyStep & { readonly source: string; readonly bodyHash: string };

export type ApplyStep =
  /** `drift`: somebody has changed it since, and it is left so. `fight`: somebody changes it again and again, and it is put back. */
  | { readonly phase: 'applied'; readonly drift?: string; readonly fight?: string }
  /** Something else has to happen first; it goes on by itself. */
  | { readonly phase: 'waiting'; readonly reason: string; readonly message: string }
  | { readonly phase: 'failed'; readonly reason: string; readonly message: string }
  /** The object is the cluster's own: a rule of upsync takes it. */
  | { readonly phase: 'yielded'; readonly reason: string; readonly message: string };

export class ProgressReports {
  readonly #changed: (key: string) => void;
  readonly #progress = new Map<string, ApplyProgress>();
  /** Namespaces that the cluster had when they were looked at last. */
  readonly #found = new Set<string>();

  /** `changed`: something else is said of the object than before. */
  constructor(changed: (key: string) => void) {
    this.#changed = changed;
  }

  of(key: string): ApplyProgress | undefined {
    return this.#progress.get(key);
  }

  report({ key, source, bodyHash }: Delivery, step: ApplyStep): void {
    const next: ApplyProgress = { ...step, source, bodyHash };
    const before = this.#progress.get(key);
    if (before && JSON.stringify(before) === JSON.stringify(next)) return;
    this.#progress.set(key, next);
    this.#changed(key);
  }

  /** The object is wanted no more. */
  forget(key: string): void {
    this.#progress.delete(key);
    this.#found.delete(key);
  }

  /** The namespace is on the cluster, whoever has made it, or is not. */
  looked(key: string, isThere: boolean): void {
    if (isThere) this.#found.add(key);
    else this.#found.delete(key);
  }

  /** Something was said of this very content. */
  isAbout({ key, source, bodyHash }: Delivery): boolean {
    const said = this.#progress.get(key);
    return said?.source === source && said.bodyHash === bodyHash;
  }

  /** It is on the cluster, so that what needs it may come: as it is wanted, or as somebody else keeps it or a policy wants it. */
  isThere(key: string | undefined): boolean {
    const phase = key === undefined ? undefined : this.#progress.get(key)?.phase;
    return phase === 'applied' || phase === 'yielded' || (phase === 'failed' && this.#found.has(key!));
  }

  hasFailed(key: string): boolean {
    return this.#progress.get(key)?.phase === 'failed';
  }
}
