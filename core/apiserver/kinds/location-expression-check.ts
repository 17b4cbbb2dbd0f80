/** Whether an expression of a placement can be evaluated at all, and at any destination that there may be. */
import { compileCel } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import { celValue } from '../../match/cel/values.ts';
import { invalidField } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';

/** What an expression of a placement can name, for admission and for matching. */
export const locationVariables = {
  location: 'dyn',
  syncTarget: 'dyn',
  path: 'string',
  properties: { map: 'string' },
} as const;

/** As many properties as the schema lets a SyncTarget have. */
export const propertiesMax = 256;

/**
 * An expression is tried at a destination as big as one may be. Loops are charged by their turns, so that two of them, one in the other, over all
 * properties pass, and three do not; what passes here and is dearer somewhere matches nothing there, and does not take longer.
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
        // Here, for want of a label or a property: not everywhere.
        return [];
      case 'cost':
        return [invalidField(field, source, costsTooMuch)];
      default:
        return [invalidField(field, source, `compilation failed: ${error.message}`)];
    }
  }
}

export const costsTooMuch = `costs too much at a destination with ${propertiesMax} labels and ${propertiesMax} properties; use fewer loops inside of others`;

type Bindings = Parameters<ReturnType<typeof compileCel>['evaluate']>[0];
let made: Bindings | undefined;

/** As big as one may be, for expressions that are tried before they are taken. */
export function biggestDestination(): Bindings {
  const properties = Object.fromEntries(Array.from({ length: propertiesMax }, (_, i) => [`property-${i}`, `${i}`]));
  const metadata = { name: 'store-17', labels: properties, annotations: properties };
  made ??= {
    location: celValue({ metadata, spec: {} }),
    syncTarget: celValue({ metadata, spec: { properties } }),
    path: 'eu:paris:store-17',
    properties: celValue(properties),
  };
  return made;
}
