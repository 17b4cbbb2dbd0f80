/** Checks that an expression of a placement compiles, and that its cost is acceptable at the largest possible destination. */
import { compileCel } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import { celValue } from '../../match/cel/values.ts';
import { invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';

/** The variables of a placement's expression. Admission and matching use the same list. */
export const locationVariables = {
  location: 'dyn',
  syncTarget: 'dyn',
  path: 'string',
  properties: { map: 'string' },
} as const;

/** The maximal number of properties that the schema of a SyncTarget allows. */
export const propertiesMax = 256;

/**
 * Evaluates the expression once, with the largest possible destination. Each round of a loop costs steps. So an expression with two nested loops over all
 * properties is accepted, and one with three nested loops is refused. If an accepted expression costs more at some destination, its evaluation stops at the
 * limit, and the expression does not match there.
 */
export function checkLocationExpression(source: string, field: string): Cause[] {
  try {
    const program = compileCel(source, locationVariables, 'bool');
    program.evaluate(biggestDestination());
    return [];
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    switch (error.kind) {
      case 'evaluation':
        // The expression has failed because this test destination lacks a label or a property. Other destinations may have it.
        return [];
      case 'cost':
        return [invalidField(field, source, costsTooMuch)];
      default:
        return [invalidField(field, source, `compilation failed: ${error.message}`)];
    }
  }
}

export const costsTooMuch = `costs too much at a destination with ${propertiesMax} labels and ${propertiesMax} properties; use fewer nested loops`;

type Bindings = Parameters<ReturnType<typeof compileCel>['evaluate']>[0];
let biggest: Bindings | undefined;

/** A destination of the largest possible size. Admission uses it to test expressions. */
export function biggestDestination(): Bindings {
  const properties = Object.fromEntries(Array.from({ length: propertiesMax }, (_, i) => [`property-${i}`, `${i}`]));
  const metadata = { name: 'store-17', labels: properties, annotations: properties };
  biggest ??= {
    location: celValue({ metadata, spec: {} }),
    syncTarget: celValue({ metadata, spec: { properties } }),
    path: 'eu:paris:store-17',
    properties: celValue(properties),
  };
  return biggest;
}
