/**
 * Renders one object for one destination: expands parameters, then applies each Customizer in order. Each Customizer applies its rules before its
 * replacements. Pure: the same object, the same Customizers and the same read values give the same bytes or the same failure.
 */

import { applyJsonPatch } from '../apiserver/patch/json-patch.ts';
import { strategicMergePatch } from '../apiserver/patch/strategic-merge-patch.ts';
import type { FieldType } from '../apiserver/schema.ts';
import type { Kind } from '../apiserver/space.ts';
import { defaultBudget, type EvaluationBudget } from '../match/cel/budget.ts';
import type { CelProgram } from '../match/cel/cel.ts';
import { CelError } from '../match/cel/cel-error.ts';
import type { CelValue } from '../match/cel/values.ts';
import { jsonText } from '../object/json.ts';
import { cloneJson } from '../object/json-value.ts';
import { type JsonObject, type KubeObject, type ObjectMeta, parseApiVersion } from '../object/meta.ts';
import { isSecret } from '../object/secret-values.ts';
import { matchesSelector } from '../object/selector.ts';
import { BanyanError } from '../runtime/errors.ts';
import { isRecord } from '../runtime/is-record.ts';
import type {
  CompiledCustomizer,
  CompiledCustomizerRule,
  CompiledPatch,
  CompiledReplacement,
  MergePatch,
  OperationPatch,
} from './compile.ts';
import {
  type CustomizationOutcome,
  CustomizeError,
  type CustomizerTarget,
  type DestinationFacts,
  expandAnnotation,
  type Rendered,
} from './customizer.ts';
import { expandParameters } from './expand.ts';
import { lazyMap, type Recorder } from './reads.ts';
import { replaceAt } from './replace-at.ts';
import { bodyOf } from './result.ts';
import type { TemplateContext } from './template.ts';

type RenderFields = Record<string, unknown>;

export interface RenderInput {
  /** The object as its author wrote it. The rendering does not change this object. */
  readonly object: KubeObject;
  /** The approximate length of the object's JSON text. The cost of a pass over the object grows with this length. */
  readonly characters: number;
  readonly customizers: readonly { readonly name: string; readonly compiled: CompiledCustomizer }[];
  readonly expands: boolean;
  /**
   * Undefined if this node does not know the kind. Then a merge patch replaces lists as a whole, and the result is checked only for the identity of the
   * object.
   */
  readonly kind: Kind | undefined;
}

/**
 * Maximal number of characters that expressions, parameters and copies may add to one object in all. The bound is four times the maximal size of an object,
 * so that one rule can replace the output of another. A series of `copy` operations that doubles the object each time quickly reaches the bound.
 */
const growthMax = 6 * 1024 * 1024;
/**
 * A patch passes over the whole object, so its cost is counted by characters. The pass over a small object costs nothing. For an object of 1.5 MiB, the
 * budget allows about forty passes: 0.4 s.
 */
const charactersPerStep = 64;
/** Looking up a parameter takes as long as a few steps of an expression. */
const stepsPerParameter = 8;

export function render(input: RenderInput, recorder: Recorder): Rendered {
  const work = new RenderWork(input, recorder);
  const outcome = outcomeOf(input, work);
  return { outcome, steps: work.steps };
}

function outcomeOf(input: RenderInput, work: RenderWork): CustomizationOutcome {
  try {
    let object: RenderFields = input.object;
    if (input.expands) object = work.in(`annotation ${expandAnnotation}`, () => work.expanded(input.object));
    if (input.customizers.length > 0) object = withMaps(object);
    for (const { name, compiled } of input.customizers) {
      object = work.in(`Customizer ${name}`, () => work.customized(object, compiled));
    }
    return { body: work.in('the result', () => bodyOf(object, input.object, input.kind)) };
  } catch (error) {
    if (error instanceof CustomizeError)
      return { failure: { reason: 'CustomizationFailed', message: `${work.doing}: ${reasonOf(error, input.object)}` } };
    throw error;
  }
}

/**
 * Adds empty labels and annotations if the object has none, so that a patch can add one and an expression can read one. `result.ts` removes empty maps
 * again.
 */
function withMaps(object: RenderFields): RenderFields {
  const metadata = object.metadata as ObjectMeta;
  return {
    ...object,
    metadata: { ...metadata, labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {} },
  };
}

/** The reason may quote a value of the object. Statuses and logs have the reason, and may not have values of Secrets. */
function reasonOf({ field, message }: CustomizeError, object: KubeObject): string {
  const shown = isSecret(object) ? hiddenReason : message;
  return field === '' ? shown : `${field}: ${shown}`;
}

const hiddenReason =
  'fails; the reason may have values of the Secret and is not shown, so try the same with a ConfigMap';

/** The rendering of one object. All its steps share one budget. */
class RenderWork implements TemplateContext {
  readonly #input: RenderInput;
  readonly #recorder: Recorder;
  readonly #budget: EvaluationBudget = defaultBudget();
  readonly #allowed = this.#budget.remaining;
  #growth = 0;
  #object: CelValue = null;
  /** The present step, for the beginning of a failure's message. */
  doing = '';

  constructor(input: RenderInput, recorder: Recorder) {
    this.#input = input;
    this.#recorder = recorder;
  }

  get steps(): number {
    return this.#allowed - this.#budget.remaining;
  }

  in<T>(doing: string, run: () => T): T {
    this.doing = doing;
    return run();
  }

  evaluate(program: CelProgram): CelValue {
    const bindings: Record<string, CelValue> = {};
    for (const name of program.variables)
      bindings[name] = name === 'object' ? this.#object : this.#recorder.variable(name as keyof DestinationFacts);
    return program.evaluate(bindings, this.#budget);
  }

  grow(characters: number): void {
    this.#growth += characters;
    if (this.#growth > growthMax) {
      throw new CelError(
        'cost',
        `more than ${growthMax} characters would be put into one object; let rules put in less`,
      );
    }
  }

  at<T>(field: string, run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof CustomizeError) throw error;
      if (!(error instanceof CelError) && !(error instanceof BanyanError)) throw error;
      throw new CustomizeError(field, error.message.replace(rejection, ''), { cause: error });
    }
  }

  expanded(object: KubeObject): KubeObject {
    const grow = (characters: number) => {
      this.#spend(stepsPerParameter);
      this.grow(characters);
    };
    return this.at('', () => expandParameters(object, this.#recorder, grow));
  }

  customized(object: RenderFields, { rules, replacements }: CompiledCustomizer): RenderFields {
    let current = object;
    for (const rule of rules) if (isTarget(current, rule.target)) current = this.#ruled(current, rule);
    return replacements.length === 0 ? current : this.#replaced(current, replacements);
  }

  #ruled(object: RenderFields, rule: CompiledCustomizerRule): RenderFields {
    this.#see(object);
    const { when, field } = rule;
    if (when && !this.at(`${field}.when`, () => this.#holds(when))) return object;
    let current = object;
    for (const run of runsOf(rule.patch)) {
      this.at(field, () => this.#spend(this.#characters / charactersPerStep));
      current = 'merge' in run ? this.#merged(current, run) : this.#patched(current, run);
    }
    return current;
  }

  #holds(when: CelProgram): boolean {
    const value = this.evaluate(when);
    if (typeof value !== 'boolean') throw new CelError('type', 'must give true or false');
    return value;
  }

  #merged(object: RenderFields, { field, merge }: MergePatch): RenderFields {
    const changes = merge(this) as JsonObject;
    return this.at(`${field}.merge`, () => strategicMergePatch(object, changes, this.#schema()));
  }

  #schema(): FieldType {
    const { kind, object } = this.#input;
    return kind && !kind.custom ? kind.schema(parseApiVersion(object.apiVersion).version) : { type: 'any' };
  }

  /** Applies consecutive operations as one patch, so that the object is copied only once. */
  #patched(object: RenderFields, run: readonly OperationPatch[]): RenderFields {
    const operations = run.map(({ operation, value, field }) => {
      const copied = operation.op === 'copy' ? jsonText(valueAt(object, operation.from ?? ''))?.length : 0;
      this.at(field, () => this.grow(copied ?? 0));
      return value ? { ...operation, value: value(this) } : operation;
    });
    try {
      return applyJsonPatch(object, operations) as RenderFields;
    } catch {
      const failing = operations.findIndex((_, index) => !applies(object, operations.slice(0, index + 1)));
      return this.at(run[failing]!.field, () => applyJsonPatch(object, operations) as RenderFields);
    }
  }

  #replaced(object: RenderFields, replacements: readonly CompiledReplacement[]): RenderFields {
    this.#see(object);
    const result = cloneJson(object);
    for (const { field, path, steps, value } of replacements) {
      const given = value(this);
      const characters = jsonText(given).length;
      const places = this.at(field, () => {
        this.#spend(this.#characters / charactersPerStep);
        return replaceAt(result, steps, () => {
          this.grow(characters);
          return cloneJson(given);
        });
      });
      if (places === 0) throw new CustomizeError(`${field}.path`, `${path} leads to nothing in this object`);
    }
    return result;
  }

  get #characters(): number {
    return this.#input.characters + this.#growth;
  }

  #spend(steps: number): void {
    this.#budget.remaining -= Math.floor(steps);
    if (this.#budget.remaining < 0)
      throw new CelError(
        'cost',
        'the object exceeds the cost limit of its customization; use fewer patches or parameters',
      );
  }

  /** Makes this object the variable `object` of expressions from now on. */
  #see(object: RenderFields): void {
    this.#object = lazyMap(object, []);
  }
}

/**
 * Groups consecutive operations. Each merge patch is a group of its own. A `copy` begins a new group, because the size of the copied value is known only
 * after all operations before it have run.
 */
function runsOf(patch: readonly CompiledPatch[]): (MergePatch | OperationPatch[])[] {
  const runs: (MergePatch | OperationPatch[])[] = [];
  for (const item of patch) {
    const last = runs.at(-1);
    if ('merge' in item) runs.push(item);
    else if (Array.isArray(last) && item.operation.op !== 'copy') last.push(item);
    else runs.push([item]);
  }
  return runs;
}

function applies(object: RenderFields, operations: readonly object[]): boolean {
  try {
    applyJsonPatch(object, operations);
    return true;
  } catch {
    return false;
  }
}

/** The value at a JSON pointer. */
function valueAt(object: unknown, pointer: string): unknown {
  let value = object;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as RenderFields)[name]
        : undefined;
  }
  return value;
}

/** The beginning that the API server adds to the cause in an answer to an HTTP client. */
const rejection = /^the server rejected our request due to an error in our request: /;

function isTarget(object: RenderFields, { group, kind, name, labelSelector }: CustomizerTarget): boolean {
  if (group !== undefined && group !== parseApiVersion(String(object.apiVersion)).group) return false;
  if (kind !== undefined && kind !== object.kind) return false;
  const metadata: ObjectMeta = isRecord(object.metadata) ? object.metadata : {};
  if (name !== undefined && name !== metadata.name) return false;
  return (
    labelSelector === undefined || matchesSelector(labelSelector, isRecord(metadata.labels) ? metadata.labels : {})
  );
}
