/** `spec.locationExpression` at one destination. A placement that can't be evaluated there does not match there. */
import { locationVariables } from '../../core/apiserver/kinds/admission.ts';
import { type CelProgram, compileCel } from '../../core/match/cel/cel.ts';
import { CelError } from '../../core/match/cel/cel-error.ts';
import { celValue } from '../../core/match/cel/values.ts';
import type { KubeObject } from '../../core/object/meta.ts';

export interface ExpressionInput {
  readonly location: KubeObject;
  readonly syncTarget: KubeObject;
  readonly path: string;
}

const compiled = new Map<string, CelProgram>();
/** Distinct expressions that a node meets are those of its placements. */
const compiledMax = 10_000;

export function locationExpression(expression: string, { location, syncTarget, path }: ExpressionInput): boolean {
  const program = compiled.get(expression) ?? compileCel(expression, locationVariables, 'bool');
  if (compiled.size >= compiledMax) compiled.clear();
  compiled.set(expression, program);
  const properties = (syncTarget.spec as { properties?: Record<string, string> } | undefined)?.properties ?? {};
  try {
    return (
      program.evaluate({
        location: celValue(location),
        syncTarget: celValue(syncTarget),
        path,
        properties: celValue(properties),
      }) === true
    );
  } catch (error) {
    if (error instanceof CelError) return false;
    throw error;
  }
}
