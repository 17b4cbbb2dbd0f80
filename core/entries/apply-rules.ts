/** How an agent treats an object that others touch too: what placements say of it, and what several of them say together. */

/** `Correct`: put back. `Report`: left, and said where the placement's author reads. `Ignore`: left. */
export type DriftMode = 'Correct' | 'Report' | 'Ignore';
/** Whether an object that exists already is taken over: one that somebody else manages only with `Always`, none with `Never`. */
export type AdoptRule = 'IfUnowned' | 'Always' | 'Never';

export interface ApplyRules {
  readonly drift: DriftMode;
  /** JSONPaths of fields that are the cluster's own once the object is there. */
  readonly ignored: readonly string[];
  readonly adopt: AdoptRule;
  /** An object whose change the cluster refuses because a field is immutable is removed and made anew. */
  readonly replace: boolean;
}

export const defaultRules: ApplyRules = { drift: 'Correct', ignored: [], adopt: 'IfUnowned', replace: false };

/** As attributes carry them: what differs from the default. */
export type SparseApplyRules = Partial<ApplyRules>;

const driftOrder: readonly DriftMode[] = ['Correct', 'Report', 'Ignore'];
const adoptOrder: readonly AdoptRule[] = ['Never', 'IfUnowned', 'Always'];

/** Of placements that want one object: what one of them wants enforced is enforced, and a risk is taken only where all take it. */
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
