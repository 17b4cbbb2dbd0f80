/**
 * Refuses a Customizer whose expressions cost too much, as far as admission can know this without an object. Expressions that read only the destination are
 * evaluated once, with the largest possible destination. All other expressions are stopped by the budget of each rendering; then the destination reports
 * the failure.
 */
import type { CelProgram } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import { invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { biggestDestination, costsTooMuch } from './location-expression-check.ts';

/** Budget of one expression in steps. All expressions of a rendering together have the same budget. So a refused expression could not be rendered anyway. */
const expressionSteps = 1_000_000;
/**
 * Budget of one Customizer, which may have thousands of expressions. This takes about 0.2 s of a write. When it is used up, the remaining expressions are
 * not tried.
 */
const trialSteps = 4 * expressionSteps;

export class CostTrial {
  readonly causes: Cause[] = [];
  #remainingSteps = trialSteps;

  readonly see = (program: CelProgram, field: string, shown: string): void => {
    if (program.variables.has('object') || this.#remainingSteps < expressionSteps) return;
    const budget = { remaining: expressionSteps };
    try {
      program.evaluate(biggestDestination(), budget);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      // With any other error, the expression has failed because this test destination lacks a label or a property.
      if (error.kind === 'cost') this.causes.push(invalidField(field, shown, costsTooMuch));
    } finally {
      this.#remainingSteps -= expressionSteps - Math.max(0, budget.remaining);
    }
  };
}
