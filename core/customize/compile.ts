/** Compiles a Customizer, or lists its mistakes with their fields. Admission uses this code too. */

import { type CelProgram, type CelType, compileCel } from '../match/cel/cel.ts';
import { CelError } from '../match/cel/cel-error.ts';
import { invalidField, notSupported, required } from '../object/field-error.ts';
import { type JsonPathStep, parseJsonPath } from '../object/jsonpath.ts';
import { checkSelector } from '../object/label-selector-check.ts';
import type { Json } from '../object/meta.ts';
import type { Cause } from '../runtime/errors.ts';
import type { CustomizerSpec, CustomizerTarget, PatchItem, Replacement } from './customizer.ts';
import { compileTemplate, type Template, type TemplateCompiler } from './template.ts';

/** The variables of a Customizer's expressions. */
export const customizerVariables: Readonly<Record<string, CelType>> = {
  location: 'dyn',
  syncTarget: 'dyn',
  properties: { map: 'string' },
  path: 'string',
  object: 'dyn',
};

export interface CompiledCustomizer {
  readonly rules: readonly CompiledCustomizerRule[];
  readonly replacements: readonly CompiledReplacement[];
}

export interface CompiledCustomizerRule {
  readonly field: string;
  readonly when: CelProgram | undefined;
  readonly target: CustomizerTarget;
  readonly patch: readonly CompiledPatch[];
}

export type CompiledPatch = MergePatch | OperationPatch;

export interface MergePatch {
  readonly field: string;
  readonly merge: Template;
}

export interface OperationPatch {
  readonly field: string;
  readonly operation: { readonly op: string; readonly path: string; readonly from?: string };
  /** Absent if the operation has no value. */
  readonly value?: Template;
}

export interface CompiledReplacement {
  readonly field: string;
  readonly path: string;
  readonly steps: readonly JsonPathStep[];
  readonly value: Template;
}

export type Compilation =
  | { readonly customizer: CompiledCustomizer; readonly causes?: undefined }
  | { readonly causes: readonly [Cause, ...Cause[]]; readonly customizer?: undefined };

/** Called for each expression that compiles, with the field, and with the text that contains the expression. */
export type ProgramSeen = (program: CelProgram, field: string, shown: string) => void;

export function compileCustomizer(spec: CustomizerSpec, seen: ProgramSeen = () => undefined): Compilation {
  const causes: Cause[] = [];
  const compiler = compilerInto(causes, seen);
  const rules = (spec.rules ?? []).map((rule, index): CompiledCustomizerRule => {
    const field = `spec.rules[${index}]`;
    const { labelSelector } = rule.target ?? {};
    if (labelSelector) causes.push(...checkSelector(labelSelector, `${field}.target.labelSelector`));
    return {
      field,
      when:
        rule.when === undefined
          ? undefined
          : compileExpression(rule.when, `${field}.when`, rule.when, causes, seen, 'bool'),
      target: rule.target ?? {},
      patch: (rule.patch ?? []).flatMap((item, at) => compilePatch(item, `${field}.patch[${at}]`, compiler, causes)),
    };
  });
  const replacements = (spec.replacements ?? []).flatMap((replacement, index) =>
    compileReplacement(replacement, `spec.replacements[${index}]`, compiler, causes),
  );
  const [first, ...rest] = causes;
  return first ? { causes: [first, ...rest] } : { customizer: { rules, replacements } };
}

function compilerInto(causes: Cause[], seen: ProgramSeen): TemplateCompiler {
  return {
    compile: (source, field, shown) => compileExpression(source, field, shown, causes, seen),
    wrong: (field, value, message) => causes.push(invalidField(field, value, message)),
  };
}

function compileExpression(
  source: string,
  field: string,
  shown: string,
  causes: Cause[],
  seen: ProgramSeen,
  result?: 'bool',
): CelProgram | undefined {
  try {
    const program = compileCel(source, customizerVariables, result);
    seen(program, field, shown);
    return program;
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    const message = `compilation failed: ${error.message}; expressions see location, syncTarget, properties, path and object`;
    causes.push(invalidField(field, shown, message));
    return undefined;
  }
}

const operations = ['add', 'remove', 'replace', 'move', 'copy', 'test'];
const withValue = new Set(['add', 'replace', 'test']);
const withFrom = new Set(['move', 'copy']);

function compilePatch(item: PatchItem, field: string, compiler: TemplateCompiler, causes: Cause[]): CompiledPatch[] {
  const { op, path, from, merge } = item;
  if (merge !== undefined) {
    const beside = (['op', 'path', 'from', 'value'] as const).find((name) => item[name] !== undefined);
    if (beside) {
      const message =
        'belongs to a JSON Patch operation, but this item has merge; put one of the two into a separate item';
      causes.push(invalidField(`${field}.${beside}`, item[beside], message));
    }
    return [{ field, merge: compileTemplate(merge, `${field}.merge`, compiler) }];
  }
  if (op === undefined) {
    causes.push(required(`${field}.op`, 'an item is a JSON Patch operation or has merge'));
    return [];
  }
  if (!operations.includes(op)) {
    causes.push(notSupported(`${field}.op`, op, operations));
    return [];
  }
  if (path === undefined) causes.push(required(`${field}.path`, 'a JSON pointer, such as /data/text'));
  else checkPointer(path, `${field}.path`, causes);
  if (withFrom.has(op)) {
    if (from === undefined) causes.push(required(`${field}.from`, `${op} needs a JSON pointer, such as /data/text`));
    else checkPointer(from, `${field}.from`, causes);
  }
  const hasValue = Object.hasOwn(item, 'value');
  if (withValue.has(op) && !hasValue) causes.push(required(`${field}.value`, `${op} needs a value`));
  const value =
    withValue.has(op) && hasValue ? compileTemplate(item.value as Json, `${field}.value`, compiler) : undefined;
  return [
    {
      field,
      operation: { op, path: path ?? '', ...(from === undefined ? {} : { from }) },
      ...(value ? { value } : {}),
    },
  ];
}

/** Checks the syntax of RFC 6901. Refuses `__proto__`, because a JavaScript object does not treat it as an ordinary field. */
function checkPointer(pointer: string, field: string, causes: Cause[]): void {
  if (pointer === '') {
    causes.push(
      invalidField(field, pointer, 'is the whole object; a path leads to one of its fields, such as /data/text'),
    );
  } else if (!pointer.startsWith('/')) {
    causes.push(
      invalidField(
        field,
        pointer,
        `a JSON pointer begins with "/"; write ${JSON.stringify(`/${pointer.replaceAll('.', '/')}`)}`,
      ),
    );
  } else if (/~(?![01])/.test(pointer)) {
    causes.push(invalidField(field, pointer, 'in a JSON pointer "~" is written "~0", and "/" in a name "~1"'));
  } else if (pointer.split('/').includes('__proto__')) {
    causes.push(invalidField(field, pointer, 'leads to __proto__, which is no field of an object'));
  }
}

function compileReplacement(
  { path, value }: Replacement,
  field: string,
  compiler: TemplateCompiler,
  causes: Cause[],
): CompiledReplacement[] {
  const steps = parseJsonPath(path);
  const template = compileTemplate(value, `${field}.value`, compiler);
  if (steps && steps.length > 0) return [{ field, path, steps, value: template }];
  const example =
    'such as $.data.text, $.spec.template.spec.containers[0].image or $.spec.ports[?(@.name=="http")].port';
  causes.push(invalidField(`${field}.path`, path, `is not a JSONPath to a field, ${example}`));
  return [];
}
