/** Evaluates `spec.locationExpression` at one destination. If the evaluation fails, the placement does not match the destination. */
import { locationVariables } from '../../core/apiserver/kinds/location-expression-check.ts';
import { compileCel } from '../../core/match/cel/cel.ts';
import { CelError } from '../../core/match/cel/cel-error.ts';
import { parseSyntax, readsOf } from '../../core/match/cel/syntax.ts';
import { celValue } from '../../core/match/cel/values.ts';
import type { Expression } from '../../core/match/summary-match.ts';
import type { KubeObject } from '../../core/object/meta.ts';

export interface ExpressionInput {
  readonly location: KubeObject;
  readonly syncTarget: KubeObject;
  readonly path: string;
}

/** The result of an evaluation. An error means no match, and the status shows it. */
export type Evaluated = { readonly matches: boolean; readonly error?: string };

const compiled = new Map<string, Expression | 'unreadable'>();
/** Bound of the cache. A node has as many distinct expressions as its placements have. */
const compiledMax = 10_000;

/** Returns `unreadable` if this node can't compile the expression: a newer node above accepted it, and newer nodes below can evaluate it. */
export function compiledExpression(source: string): Expression | 'unreadable' {
  const cached = compiled.get(source);
  if (cached) return cached;
  if (compiled.size >= compiledMax) compiled.clear();
  const result = compile(source);
  compiled.set(source, result);
  return result;
}

export function locationExpression(source: string, { location, syncTarget, path }: ExpressionInput): Evaluated {
  const expression = compiledExpression(source);
  if (expression === 'unreadable') return { matches: false, error: 'the node there cannot compile the expression' };
  const { program } = expression;
  const properties = propertiesOf(syncTarget);
  const { metadata } = syncTarget;
  // A label summary always has these maps. They are added to this SyncTarget too, so that an expression means the same at every level.
  const target = {
    ...syncTarget,
    metadata: { ...metadata, labels: metadata.labels ?? {} },
    spec: { ...(syncTarget.spec as object | undefined), properties },
  };
  try {
    const bindings = {
      location: celValue(location),
      syncTarget: celValue(target),
      path,
      properties: celValue(properties),
    };
    return { matches: program.evaluate(bindings) === true };
  } catch (error) {
    if (error instanceof CelError) return { matches: false, error: error.message };
    throw error;
  }
}

export function propertiesOf(syncTarget: KubeObject): Record<string, string> {
  return (syncTarget.spec as { properties?: Record<string, string> } | undefined)?.properties ?? {};
}

function compile(source: string): Expression | 'unreadable' {
  try {
    const syntax = parseSyntax(source);
    return { source, syntax, reads: readsOf(syntax), program: compileCel(source, locationVariables, 'bool') };
  } catch (error) {
    if (error instanceof CelError) return 'unreadable';
    throw error;
  }
}
