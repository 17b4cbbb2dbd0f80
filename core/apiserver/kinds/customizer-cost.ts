/**
 * What expressions of a Customizer cost, as far as it can be told before there is an object: those that read of the destination alone are tried at one as
 * big as one may be. The others are stopped by the budget of the object that they are worked off for, and its destinations tell.
 */
import type { CelProgram } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import { invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { biggestDestination, costsTooMuch } from './location-expression-check.ts';

/** Of one expression: what all of an object share at its destination, so that what is refused could not be worked off there. */
const expressionSteps = 1_000_000;
/** Of one Customizer, which may have thousands of expressions: some 0.2 s of a write. What is beyond that is not tried. */
const trialSteps = 4 * expressionSteps;

export class CostTrial {
  readonly causes: Cause[] = [];
  #left = trialSteps;

  readonly see = (program: CelProgram, field: string, shown: string): void => {
    if (program.variables.has('object') || this.#left < expressionSteps) return;
    const budget = { remaining: expressionSteps };
    try {
      program.evaluate(biggestDestination(), budget);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      // Any other failure is of this destination, for want of a label or a property.
      if (error.kind === 'cost') this.causes.push(invalidField(field, shown, costsTooMuch));
    } finally {
      this.#left -= expressionSteps - Math.max(0, budget.remaining);
    }
  };
}
