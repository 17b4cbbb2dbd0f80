/**
 * A release at a last hop: which of its children have the candidate, and who may be next. Decided without the root, within what it has authorised.
 * In flight (handed out and not available) are never more than the share of `maxUnavailable` and of the error budget: were all of them to fail, the
 * budget would still hold, and when it is spent nothing more is handed out, whatever the root knows by then.
 *
 * A change of one child costs the same however many there are: those who wait and those in flight are kept as sets.
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
  /** Of each Location through which the placement reaches it. */
  readonly labels: readonly Labels[];
  readonly connected: boolean;
  /** The candidate was handed to it. */
  readonly exposed: boolean;
  /** What it reports of the candidate; both false until it has. */
  readonly available: boolean;
  readonly failed: boolean;
}

export interface WaveAdmission {
  readonly children: readonly string[];
  /** When the rate lets the next one through; absent: something else has to happen first. */
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
    // A burst of one: a minute's worth at once is what a rate is to prevent.
    this.#rate = new TokenBucket(1, 60_000 / share, nowMs);
  }

  get release(): ReleaseAttributes {
    return this.#release;
  }

  /** The same authorisation once more: of what decides who is next, at most the total has changed. */
  renew(release: ReleaseAttributes): void {
    this.#release = release;
  }

  /** What is known of a child now, and what it adds to the node's part. */
  set(name: string, facts: ChildFacts): RolloutPart {
    const { salt, waves, drawn, wave: authorised, release } = this.#release;
    const position = positionOf(salt, facts.path);
    const wave = waveOf(waves, drawn, facts.labels, position);
    const { connected, exposed } = facts;
    toggle(this.#waiting, name, connected && !exposed && wave <= authorised);
    toggle(this.#inFlight, name, connected && exposed && !facts.available);
    toggle(this.#failed, name, connected && exposed && facts.failed);
    const here = connected && exposed;
    const counts = {
      expected: 1,
      fresh: Number(connected),
      exposed: Number(here),
      available: Number(here && facts.available),
      failed: Number(here && facts.failed),
    };
    const k = this.#positionsNeeded();
    const part = {
      ...emptyPart(release, k),
      heard: connected ? authorised : receivedByAll,
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

  /** What the node adds to the part as a whole. */
  own(): RolloutPart {
    const { release, errorBudget } = this.#release;
    const isSpent = this.#failed.size > 0 && this.#failed.size >= this.#share(errorBudget);
    return { ...emptyPart(release, 0), barred: isSpent ? this.#waiting.size : 0 };
  }

  /** Who gets the candidate now. The caller sets them exposed. */
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

  /** Only until they are drawn. */
  #positionsNeeded(): number {
    const { waves, drawn } = this.#release;
    return drawn ? 0 : greatestCount(waves);
  }
}

function toggle(set: Set<string>, name: string, holds: boolean): void {
  if (holds) set.add(name);
  else set.delete(name);
}
