/** `spec.locationExpression` at one destination. A placement that can't be evaluated there does not match there. */
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

/** What came of it: an error is no match, and somebody should read of it. */
export type Evaluated = { readonly matches: boolean; readonly error?: string };

const compiled = new Map<string, Expression | 'unreadable'>();
/** Distinct expressions that a node meets are those of its placements. */
const compiledMax = 10_000;

/** `unreadable` when it does not compile here: a newer node above let it in, and it is for newer nodes below to judge. */
export function compiledExpression(source: string): Expression | 'unreadable' {
  const known = compiled.get(source);
  if (known) return known;
  if (compiled.size >= compiledMax) compiled.clear();
  const made = compile(source);
  compiled.set(source, made);
  return made;
}

export function locationExpression(source: string, { location, syncTarget, path }: ExpressionInput): Evaluated {
  const expression = compiledExpression(source);
  if (expression === 'unreadable') return { matches: false, error: 'the node there can not read the expression' };
  const { program } = expression;
  const properties = propertiesOf(syncTarget);
  const { metadata } = syncTarget;
  // Maps that a label summary tells of are always there, so that an expression means the same here and above.
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
