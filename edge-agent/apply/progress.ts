/** The progress of the work on each desired object: the last result, and the content for which the work was done. */
import type { Delivery } from '../desired/desired.ts';

/** The reason in the report of an object that the cluster has not been asked about. */
export const unasked = 'Pending';

/** A result, and the source and content that won when the work was done. */
export type ApplyProgress = ApplyStep & { readonly source: string; readonly bodyHash: string };

export type ApplyStep =
  /**
   * `drift`: somebody has changed the object since, and the change stays. `fieldConflict`: somebody changes the object again and again, and the agent
   * corrects it each time. `isAdopted`: the object was there before the agent, which has taken it over.
   */
  | { readonly phase: 'applied'; readonly drift?: string; readonly fieldConflict?: string; readonly isAdopted?: true }
  /** The object is not on the cluster, and the agent does not create it again (absence.ts). */
  | {
      readonly phase: 'absent';
      readonly isAvailable: boolean;
      readonly isFailed: boolean;
      readonly reason?: string;
      readonly message?: string;
    }
  /** The work waits for something else, and continues by itself. */
  | { readonly phase: 'waiting'; readonly reason: string; readonly message: string }
  | { readonly phase: 'failed'; readonly reason: string; readonly message: string }
  /** The object belongs to the cluster, because an upsync rule takes it. */
  | { readonly phase: 'yielded'; readonly reason: string; readonly message: string };

export class ProgressReports {
  readonly #changed: (key: string) => void;
  readonly #progress = new Map<string, ApplyProgress>();
  /** Namespaces that the cluster had at the agent's last look. */
  readonly #found = new Set<string>();

  /** `changed` is called when the progress of an object has changed. */
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

  /** Deletes the progress of an object that nobody wants any more. */
  forget(key: string): void {
    this.#progress.delete(key);
    this.#found.delete(key);
  }

  /** Notes whether the namespace is on the cluster, whoever created it. */
  noteNamespace(key: string, isThere: boolean): void {
    if (isThere) this.#found.add(key);
    else this.#found.delete(key);
  }

  /** Whether the newest report is about this very content. */
  isAbout({ key, source, bodyHash }: Delivery): boolean {
    const progress = this.#progress.get(key);
    return progress?.source === source && progress.bodyHash === bodyHash;
  }

  /** Whether the work on this very content is done. */
  isDone(delivery: Delivery): boolean {
    const phase = this.#progress.get(delivery.key)?.phase;
    return this.isAbout(delivery) && (phase === 'applied' || phase === 'yielded');
  }

  /**
   * Whether the object is on the cluster, so that objects that need it may follow. The object may differ from the desired object: somebody else may maintain
   * it, or a policy may change it.
   */
  isThere(key: string | undefined): boolean {
    const phase = key === undefined ? undefined : this.#progress.get(key)?.phase;
    return phase === 'applied' || phase === 'yielded' || (phase === 'failed' && this.#found.has(key!));
  }

  hasFailed(key: string): boolean {
    return this.#progress.get(key)?.phase === 'failed';
  }
}
