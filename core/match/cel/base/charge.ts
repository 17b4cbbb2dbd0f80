/** Charges for the work of functions, to the budget of the expression that is being evaluated (../budget.ts). */

/** Called with the steps of the next work. Throws if the budget does not allow them. */
export type Charge = (steps: number) => void;

/** Characters or items that one step pays for when a function makes them. */
export const unitsPerStep = 16;

/** The charge function of the expression that is being evaluated. Evaluation is synchronous, so there is only one at a time. */
let current: Charge | undefined;

/** Runs an evaluation whose functions charge by `charge`. */
export function charged<T>(charge: Charge, evaluate: () => T): T {
  const before = current;
  current = charge;
  try {
    return evaluate();
  } finally {
    current = before;
  }
}

/** Charges for work that a function does next. */
export function chargeSteps(steps: number): void {
  current?.(steps);
}

/** Charges for characters or items that a function makes next. */
export function chargeText(characters: number): void {
  chargeSteps(Math.ceil(characters / unitsPerStep));
}
