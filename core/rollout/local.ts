/**
 * A release at a last hop: which children have the candidate, and which children are next. The last hop decides alone, within the authorisation of the
 * origin. A child is in flight if it has the candidate and the candidate is not available there yet. The number of children in flight never exceeds the last
 * hop's share of `maxUnavailable` and of the error budget. So even if all children in flight fail, the budget is not exceeded. When the budget is spent, the
 * last hop hands out nothing more, even if the origin does not know about the failures yet.
 *
 * The waiting children and the children in flight are stored as sets, so the cost of a change of one child does not depend on the number of children.
 */
import type { Labels } from '../object/selector.ts';
import { TokenBucket } from '../runtime/token-bucket.ts';
import { shareOf } from './budget.ts';
import { emptyPart, noCounts, type RolloutPart, receivedByAll } from './part.ts';
import type { ReleaseAttributes } from './release.ts';
import type { Amount } from './spec.ts';
import { greatestCount, positionOf, waveOf } from './waves.ts';

export interface ChildFacts {
  readonly path: string;
  /** The labels of each Location through which the placement reaches the child. */
  readonly labels: readonly Labels[];
  readonly connected: boolean;
  /** The candidate was handed to the child. */
  readonly exposed: boolean;
  /** From the child's report about the candidate. Both are false until the child reports. */
  readonly available: boolean;
  readonly failed: boolean;
}

export interface WaveAdmission {
  readonly children: readonly string[];
  /** Milliseconds until the rate allows the next child. Absent: time alone does not allow another child. */
  readonly waitMs?: number;
}

export class LocalRelease {
  #release: ReleaseAttributes;
  readonly #children = new Map<string, RolloutPart>();
  readonly #waiting = new Set<string>();
  readonly #inFlight = new Set<string>();
  readonly #failed = new Set<string>();
  readonly #rate: TokenBucket | undefined;

  constructor(release: ReleaseAttributes, nowMs: number, local: number) {
    this.#release = release;
    const { ratePerMinute, expected } = release;
    if (ratePerMinute === undefined) return;
    const share = (ratePerMinute * local) / Math.max(expected, local, 1);
    // The burst is one child, because the rate exists so that the children of one minute do not get the release all together.
    this.#rate = new TokenBucket(1, 60_000 / share, nowMs);
  }

  get release(): ReleaseAttributes {
    return this.#release;
  }

  /** Stores a renewed authorisation. Of the fields that decide which child is next, only `expected` may have changed. */
  renew(release: ReleaseAttributes): void {
    this.#release = release;
  }

  /** Stores the facts of a child, and returns the child's contribution to the node's part. */
  set(name: string, facts: ChildFacts): RolloutPart {
    const { salt, waves, drawn, wave: authorised, release } = this.#release;
    const position = positionOf(salt, facts.path);
    const wave = waveOf(waves, drawn, facts.labels, position);
    const { connected, exposed } = facts;
    toggle(this.#waiting, name, connected && !exposed && wave <= authorised);
    toggle(this.#inFlight, name, connected && exposed && !facts.available);
    toggle(this.#failed, name, connected && exposed && facts.failed);
    const isCounted = connected && exposed;
    const counts = {
      expected: 1,
      fresh: Number(connected),
      exposed: Number(isCounted),
      available: Number(isCounted && facts.available),
      failed: Number(isCounted && facts.failed),
    };
    const k = this.#positionsNeeded();
    const part = {
      ...emptyPart(release, k),
      received: connected ? authorised : receivedByAll,
      waves: [...new Array<typeof counts>(wave).fill(noCounts), counts],
      smallest: connected && k > 0 ? [position] : [],
    };
    this.#children.set(name, part);
    return part;
  }

  delete(name: string): void {
    this.#children.delete(name);
    this.#waiting.delete(name);
    this.#inFlight.delete(name);
    this.#failed.delete(name);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** The node's own contribution to its part, in addition to those of its children. */
  own(): RolloutPart {
    const { release, errorBudget } = this.#release;
    const isSpent = this.#failed.size > 0 && this.#failed.size >= this.#share(errorBudget);
    return { ...emptyPart(release, 0), barred: isSpent ? this.#waiting.size : 0 };
  }

  /** Returns the children that get the candidate now. The caller then calls `set` for them, with `exposed`. */
  admit(nowMs: number): WaveAdmission {
    const { halted } = this.#release;
    const children: string[] = [];
    if (halted) return { children };
    const limit = this.#limit();
    for (const name of this.#waiting) {
      if (this.#inFlight.size + children.length >= limit) break;
      const waitMs = this.#rate?.take(nowMs) ?? 0;
      if (waitMs > 0) return { children, waitMs };
      children.push(name);
    }
    return { children };
  }

  #limit(): number {
    const { maxUnavailable, errorBudget } = this.#release;
    return Math.min(this.#share(errorBudget), this.#share(maxUnavailable ?? errorBudget));
  }

  #share(amount: Amount): number {
    return shareOf(amount, this.#children.size, this.#release.expected);
  }

  /** The number of smallest positions that the origin needs; 0 after it has drawn the waves with a count. */
  #positionsNeeded(): number {
    const { waves, drawn } = this.#release;
    return drawn ? 0 : greatestCount(waves);
  }
}

function toggle(set: Set<string>, name: string, holds: boolean): void {
  if (holds) set.add(name);
  else set.delete(name);
}
