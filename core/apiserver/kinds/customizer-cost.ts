/**
 * Refuses a Customizer whose expressions cost too much, as far as admission can know without an object. Expressions that read only the destination are
 * evaluated once at the largest possible destination. The budget of each rendering stops the other expressions, and then the destination reports the
 * failure.
 */
import type { CelProgram } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import { invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import { biggestDestination, costsTooMuch } from './location-expression-check.ts';

/** Steps of one expression. All expressions of one rendering share the same number of steps. So a refused expression could not be rendered there either. */
const expressionSteps = 1_000_000;
/** Steps of one Customizer, which may have thousands of expressions: some 0.2 s of a write. Further expressions are not tried. */
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
      // In any other case, the expression failed because this destination lacks a label or a property.
      if (error.kind === 'cost') this.causes.push(invalidField(field, shown, costsTooMuch));
    } finally {
      this.#remainingSteps -= expressionSteps - Math.max(0, budget.remaining);
    }
  };
}
