/** How an agent treats an object that others change too: the rules of one placement, and the combined rules of several placements. */

/**
 * The reaction of the agent to a change that somebody else made to an object on the cluster. `Correct`: the agent undoes the change. `Report`: the agent
 * leaves the change, and reports the change to the parent. `Ignore`: the agent leaves the change, and reports nothing.
 */
export type DriftMode = 'Correct' | 'Report' | 'Ignore';
/** Which existing objects the agent takes over. `Always`: every object. `IfUnowned`: an object that nobody else manages. `Never`: no object. */
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

/**
 * Combines the rules of all placements that want the same object. The strictest drift mode and the most careful adopt rule win. A field is ignored, and an
 * object is replaced, only if all placements allow it.
 */
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
