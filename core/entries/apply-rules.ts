/** How an agent treats an object that others change too: the rules of one placement, and the combined rules of several placements. */

/**
 * The agent's reaction to a change that somebody else made. `Correct`: undoes the change. `Report`: leaves the change, and reports it where the placement's
 * author reads. `Ignore`: leaves the change.
 */
export type DriftMode = 'Correct' | 'Report' | 'Ignore';
/** Whether the agent takes over an object that exists already. `Always`: every object. `IfUnowned`: not an object that somebody else manages. `Never`: none. */
export type AdoptRule = 'IfUnowned' | 'Always' | 'Never';

export interface ApplyRules {
  readonly drift: DriftMode;
  /** JSONPaths of fields that belong to the cluster once the object exists. */
  readonly ignored: readonly string[];
  readonly adopt: AdoptRule;
  /** If the cluster refuses a change because a field is immutable, the agent deletes the object and creates it again. */
  readonly replace: boolean;
}

export const defaultRules: ApplyRules = { drift: 'Correct', ignored: [], adopt: 'IfUnowned', replace: false };

/** The rules as attributes carry them: only the values that differ from the default. */
export type SparseApplyRules = Partial<ApplyRules>;

const driftOrder: readonly DriftMode[] = ['Correct', 'Report', 'Ignore'];
const adoptOrder: readonly AdoptRule[] = ['Never', 'IfUnowned', 'Always'];

/** The combined rules of all placements that want one object. What one placement wants enforced is enforced; a risk is taken only if all placements take it. */
export function togetherRules(all: readonly SparseApplyRules[]): ApplyRules {
  const rules = all.map((sparse) => ({ ...defaultRules, ...sparse }));
  const [first = defaultRules, ...others] = rules;
  return {
    drift: driftOrder.find((mode) => rules.some(({ drift }) => drift === mode)) ?? defaultRules.drift,
    ignored: first.ignored.filter((path) => others.every(({ ignored }) => ignored.includes(path))),
    adopt: adoptOrder.find((rule) => rules.some(({ adopt }) => adopt === rule)) ?? defaultRules.adopt,
    replace: rules.length > 0 && rules.every(({ replace }) => replace),
  };
}

export function sameRules(a: ApplyRules, b: ApplyRules): boolean {
  return (
    a.drift === b.drift &&
    a.adopt === b.adopt &&
    a.replace === b.replace &&
    a.ignored.length === b.ignored.length &&
    a.ignored.every((path, i) => path === b.ignored[i])
  );
}
