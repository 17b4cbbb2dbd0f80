/** Functions of optional values that the engine lacks (version 2 of cel.OptionalTypes of cel-go). */
import { type Environment, Optional } from '@marcbachmann/cel-js';
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { definer } from './define.ts';
import {
  addMacro,
  type Call,
  type Macro,
  type MacroChecker,
  type MacroScope,
  type Type,
  variableOf,
} from './macros.ts';

/** The engine's type of the namespace `optional`. */
const optional = 'OptionalNamespace';

export function addOptionals(environment: Environment): void {
  const define = definer(environment);
  addMacro(environment, 'optMap', 2, (call) => mapped(call, 'value'));
  addMacro(environment, 'optFlatMap', 2, (call) => mapped(call, 'optional'));
  define(`${optional}.ofNonZeroValue(A): optional<A>`, (_, value: unknown) =>
    isZero(value) ? Optional.none() : Optional.of(value),
  );
  define(`${optional}.unwrap(list<optional<A>>): list<A>`, (_, list: Optional<unknown>[]) => unwrapped(list));
  define('list<optional<A>>.unwrapOpt(): list<A>', unwrapped);
  define('list<A>.first(): optional<A>', (list: unknown[]) => Optional.of(list[0]));
  define('list<A>.last(): optional<A>', (list: unknown[]) => Optional.of(list.at(-1)));
}

/** `optMap` and `optFlatMap`: the body is evaluated with the value, if there is one. `body`: what the body is. */
function mapped({ receiver, args }: Call, body: 'value' | 'optional'): Macro {
  let inner: MacroScope;
  return {
    async: false,
    typeCheck(checker, _, context) {
      inner = context.forkWithVariable(
        variableOf(checker, args[0]!),
        valueTypeOf(checker, checker.check(receiver, context)),
      );
      const type = checker.check(args[1]!, inner);
      if (body === 'value') return checker.registry.getOptionalType(type);
      if (type.kind === 'optional' || type.kind === 'dyn') return type;
      throw checker.createError('optional_expected', `optFlatMap must give an optional, got '${type.name}'`, args[1]!);
    },
    evaluate(evaluator, _, context) {
      const value = evaluator.run(receiver, context);
      if (!(value instanceof Optional)) throw new TypeError('an optional is needed here');
      if (!value.hasValue()) return value;
      const result = evaluator.run(args[1]!, inner.reuse(context).setIterValue(value.value(), evaluator));
      return body === 'value' ? Optional.of(result) : result;
    },
  };
}

function valueTypeOf(checker: MacroChecker, type: Type): Type {
  return type.kind === 'optional' && type.valueType ? type.valueType : checker.getType('dyn');
}

function unwrapped(list: readonly Optional<unknown>[]): unknown[] {
  return list.filter((one) => one.hasValue()).map((one) => one.value());
}

function isZero(value: unknown): boolean {
  if (value === null || value === '' || value === false) return true;
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value) === 0;
  if (value instanceof UnsignedInt) return value.value === 0n;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Map) return value.size === 0;
  if (value instanceof Duration) return value.seconds === 0n && value.nanos === 0;
  return typeof value === 'object' && value?.constructor === Object && Object.keys(value).length === 0;
}
