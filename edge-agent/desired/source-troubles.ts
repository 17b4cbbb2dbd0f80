/**
 * The troubles with sources, for the people who run the site: the objects that several sources want, and the objects that the site refuses. Tenants read about their own objects in
 * the status of their placements; the names of other sources are only in this report.
 */
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { conflictText } from '../../core/match/precedence.ts';
import { displayKey, parseKey } from '../../core/object/key.ts';
import { compareText } from '../../core/object/text-order.ts';
import type { Delivery, Desired } from './desired.ts';

export interface SourceTroublesReport {
  readonly notAccepted?: { readonly reason: string; readonly message: string };
  readonly sourceConflict?: { readonly reason: string; readonly message: string };
}

/** The objects that the report names. A person looks at a few, and repairs the cause of all. */
const namedMax = 3;

export class SourceTroubles {
  readonly #desired: Desired;
  /** Keys of objects for which a source loses against another, and of objects of which something is refused. */
  readonly #conflicts = new Set<string>();
  readonly #refused = new Set<string>();

  constructor(desired: Desired) {
    this.#desired = desired;
    this.changed([...desired.objects(), ...desired.refusedObjects()]);
  }

  /** Looks at these objects again. Returns true if the report may have changed. */
  changed(keys: readonly string[]): boolean {
    let hasChanged = false;
    for (const key of keys) {
      const had = this.#conflicts.has(key) || this.#refused.has(key);
      setMember(this.#conflicts, key, this.#losers(key).length > 0);
      setMember(this.#refused, key, this.#desired.refused(key).length > 0);
      hasChanged ||= had || this.#conflicts.has(key) || this.#refused.has(key);
    }
    return hasChanged;
  }

  /** `ruledOut`: the parts of each placement's upsync rules that the site rules out. */
  reported(ruledOut: ReadonlyMap<PlacementId, readonly string[]>): SourceTroublesReport {
    const refusals = [...this.#refusals(), ...refusedRules(ruledOut)];
    return {
      ...(refusals.length > 0 ? { notAccepted: { reason: 'NotAccepted', message: refusals.join('. ') } } : {}),
      ...(this.#conflicts.size > 0 ? { sourceConflict: { reason: 'Conflicted', message: this.#conflicting() } } : {}),
    };
  }

  /** Deliveries that lose and are conflicted. An object that placements only need may belong to any source (up-feed-entries.ts). */
  #losers(key: string): readonly Delivery[] {
    const [, ...others] = this.#desired.deliveries(key);
    return others.filter(({ placements, implied }) => !placements.every((id) => implied.includes(id)));
  }

  #refusals(): string[] {
    if (this.#refused.size === 0) return [];
    const texts = first(this.#refused).map((key) => {
      const sources = this.#desired.refused(key).map(({ source }) => source);
      return `${displayKey(parseKey(key))} of ${sources.join(', ')}`;
    });
    return [listed(texts, this.#refused.size, 'the site does not accept')];
  }

  #conflicting(): string {
    const texts = first(this.#conflicts).map((key) => {
      const [winner] = this.#desired.deliveries(key);
      return `${displayKey(parseKey(key))}: ${conflictText(winner!, this.#losers(key)[0]!)}`;
    });
    return listed(texts, this.#conflicts.size, 'several sources want');
  }
}

/** Says which placements want to read back what they may not have. */
function refusedRules(ruledOut: ReadonlyMap<PlacementId, readonly string[]>): string[] {
  if (ruledOut.size === 0) return [];
  const texts = [...ruledOut].slice(0, namedMax).map(([id, [part]]) => `${part} for ${id}`);
  const count = ruledOut.size === 1 ? 'a placement' : `${ruledOut.size} placements`;
  return [`The site does not accept what the rules of upsync of ${count} ask for, such as ${texts.join('; ')}`];
}

function first(keys: ReadonlySet<string>): string[] {
  return [...keys].sort(compareText).slice(0, namedMax);
}

function listed(texts: readonly string[], count: number, what: string): string {
  const objects = count === 1 ? '1 object' : `${count} objects`;
  return `${what} ${objects}, such as ${texts.join('; ')}`;
}

function setMember(set: Set<string>, key: string, isIn: boolean): void {
  if (isIn) set.add(key);
  else set.delete(key);
}
