/**
 * Gates that are CEL expressions over counts of destinations. All counts are doubles, so that a user can write `available/expected >= 0.99`; a division of
 * integers would give 0 or 1. A disconnected destination counts only in `total`, because it must not block the others.
 */
import { type CelProgram, type CelType, compileCel } from '../match/cel/cel.ts';
import { CelError } from '../match/cel/cel-error.ts';
import type { WaveCounts } from './part.ts';
import type { Gate } from './spec.ts';

const counts = {
  total: 'double',
  expected: 'double',
  fresh: 'double',
  exposed: 'double',
  available: 'double',
  failed: 'double',
} as const satisfies Record<string, CelType>;

/** The variables of a gate: the counts of all waves up to this wave (included), and, in `wave`, the counts of this wave alone. */
export const gateVariables: Readonly<Record<string, CelType>> = { ...counts, wave: { fields: counts } };

export type GateResult =
  | { readonly passed: true }
  /** `failed`: the gate has failed for good and will not pass any more. */
  | { readonly passed: false; readonly failed: boolean; readonly message: string };

export function compileGate(expression: string): CelProgram {
  return compileCel(expression, gateVariables, 'bool');
}

const compiled = new Map<string, CelProgram>();
/** Limit for the cache of compiled gates. A full cache is cleared. */
const compiledMax = 1_000;

export function evaluateGate(gate: Gate, upTo: WaveCounts, alone: WaveCounts): GateResult {
  const { expression = 'true', minimumSample = 1, minimumFresh = 0 } = gate;
  if (upTo.fresh < minimumSample) {
    return waits(`only ${upTo.fresh} destinations are connected; its minimumSample is ${minimumSample}`);
  }
  const fresh = upTo.expected === 0 ? 1 : upTo.fresh / upTo.expected;
  if (fresh < minimumFresh) {
    return waits(
      `only ${upTo.fresh} of ${upTo.expected} destinations are connected; its minimumFresh is ${minimumFresh}`,
    );
  }
  try {
    const program = compiled.get(expression) ?? compileGate(expression);
    if (compiled.size >= compiledMax) compiled.clear();
    compiled.set(expression, program);
    const bindings = { ...bind(upTo), wave: new Map(Object.entries(bind(alone))) };
    if (program.evaluate(bindings) === true) return { passed: true };
    const named = Object.entries(bind(upTo)).filter(([name]) => program.variables.has(name));
    const values = named.map(([name, value]) => `${name} ${value}`).join(', ');
    return waits(`${expression} does not hold${values === '' ? '' : ` (${values})`}`);
  } catch (error) {
    if (error instanceof CelError) return waits(`${expression}: ${error.message}`);
    throw error;
  }
}

function bind(of: WaveCounts): Record<string, number> {
  const { fresh, exposed, available, failed } = of;
  return { total: of.expected, expected: fresh, fresh, exposed, available, failed };
}

function waits(message: string): GateResult {
  return { passed: false, failed: false, message };
}
