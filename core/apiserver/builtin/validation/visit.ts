/**
 * The words in which the rules of built-in kinds are written. A check looks at one value and adds its causes; a rule is a check made of smaller ones. The
 * order of the parts of a rule is the order of the causes in the answer.
 */
import { type FieldPath, formatPath, messageValue } from '../../../object/field-error.ts';
import { isNumber, jsonText } from '../../../object/json.ts';
import type { KubeObject } from '../../../object/meta.ts';
import type { Cause } from '../../../runtime/errors.ts';
import { isRecord } from '../../../runtime/is-record.ts';
import type { Field, FieldType } from '../../schema.ts';
import { causesMax } from '../../status-errors.ts';

export type ReadValues = Readonly<Record<string, unknown>>;
/** Absent values are undefined. A check that needs no value ignores them. */
export type FieldCheck = (value: unknown, at: Visit) => void;
/** The type of a field, and whether the field is a pointer in Go. */
export type TypedField = Pick<Field, 'type' | 'pointer'>;
/** Returns the mistakes of a text. Empty: the text is right. */
export type TextCheck = (text: string) => string[];

/** Number of characters of a detail that a message has. A detail may name a value as large as an object. */
const detailCharactersMax = 2048;

interface VisitOptions {
  readonly old?: KubeObject | undefined;
  readonly former?: KubeObject | undefined;
  readonly isNew?: boolean;
  readonly type?: FieldType | undefined;
  readonly subresource?: string | undefined;
}

/** One validation of one object. The path grows and shrinks with the walk, and becomes a text only for a cause. */
export class Visit {
  readonly causes: Cause[] = [];
  readonly object: KubeObject;
  /** The object before the update. Undefined: the object is new. */
  readonly old: KubeObject | undefined;
  /** The object before the update, also in a first validation in which `old` is absent. */
  readonly former: KubeObject | undefined;
  /** The object is created. In the first validation of some updates, `old` is absent too. */
  readonly isNew: boolean;
  /** The part of the object that the write changes. Undefined: the whole object. */
  readonly subresource: string | undefined;
  /** The type of the objects. */
  readonly #type: FieldType | undefined;
  readonly #path: FieldPath = [];

  constructor(object: KubeObject, { old, former = old, isNew = !old, type, subresource }: VisitOptions = {}) {
    this.object = object;
    this.old = old;
    this.former = former;
    this.isNew = isNew;
    this.#type = type;
    this.subresource = subresource;
  }

  /** The type of a field of the object. `path`: such as `spec.containers.*`; the last part means each item. Undefined: the types have no such field. */
  fieldAt(path: string): TypedField | undefined {
    let field: TypedField | undefined = this.#type && { type: this.#type };
    for (const name of path.split('.')) {
      const type: FieldType | undefined = field?.type;
      if (type?.type === 'object') field = type.field(name);
      else if (type?.type === 'list') field = { type: type.items };
      else field = type?.type === 'map' ? { type: type.values } : undefined;
    }
    return field;
  }

  /** Runs the check with the longer path. */
  into(part: string | number, value: unknown, check: FieldCheck): void {
    this.#path.push(part);
    check(value, this);
    this.#path.pop();
  }

  required(below = '', detail = ''): void {
    this.#add('FieldValueRequired', below, 'Required value', detail);
  }

  invalid(below: string, value: unknown, detail: string): void {
    this.#add('FieldValueInvalid', below, 'Invalid value', detail, value);
  }

  /** A cause whose value is not shown. */
  invalidAs(below: string, detail: string): void {
    this.#add('FieldValueInvalid', below, 'Invalid value', detail);
  }

  forbidden(below: string, detail: string): void {
    this.#add('FieldValueForbidden', below, 'Forbidden', detail);
  }

  unsupported(below: string, value: unknown, supported: readonly string[]): void {
    const list = supported.map((item) => jsonText(item)).join(', ');
    this.#add('FieldValueNotSupported', below, 'Unsupported value', `supported values: ${list}`, value);
  }

  duplicate(below: string, value: unknown, detail = ''): void {
    this.#add('FieldValueDuplicate', below, 'Duplicate value', detail, value);
  }

  notFound(below: string, value: unknown, detail = ''): void {
    this.#add('FieldValueNotFound', below, 'Not found', detail, value);
  }

  tooLong(below: string, max: number): void {
    this.#add('FieldValueTooLong', below, `Too long: may not be more than ${max} bytes`, '');
  }

  tooMany(below: string, actual: number, max: number): void {
    this.#add('FieldValueTooMany', below, `Too many: ${actual}: must have at most ${max} items`, '');
  }

  /** A cause that Kubernetes calls a failure of its own, although the value is wrong. */
  internal(below: string, detail: string): void {
    this.#add('InternalError', below, 'Internal error', detail);
  }

  /** The causes after those of an answer are only counted. To show a large value in each of them would take quadratic time. */
  #add(reason: string, below: string, mistake: string, detail: string, ...values: readonly unknown[]): void {
    if (this.causes.length >= causesMax) {
      this.causes.push({ reason, message: mistake, field: '' });
      return;
    }
    const field = formatPath(below === '' ? this.#path : [...this.#path, below]);
    const cut = detail.length > detailCharactersMax ? `${detail.slice(0, detailCharactersMax)}…` : detail;
    const message = [mistake, ...values.map(messageValue), ...(cut === '' ? [] : [cut])].join(': ');
    this.causes.push({ reason, message, field: field || '<nil>' });
  }
}

// ReadValues as Go reads them: an absent text is empty, an absent number is 0, an absent list has no items.

export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberOf(value: unknown): number {
  return isNumber(value) ? Number(value) : 0;
}

export function recordOf(value: unknown): ReadValues {
  return isRecord(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function recordsOf(value: unknown): readonly ReadValues[] {
  return listOf(value).map(recordOf);
}

export function textsOf(value: unknown): readonly string[] {
  return listOf(value).map(wordOf);
}

/** The value at a path of fields, such as `spec.template.spec`. */
export function valueAtPath(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), value);
}

export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

// Checks made of checks.

export function all(...checks: readonly FieldCheck[]): FieldCheck {
  return (value, at) => {
    for (const check of checks) check(value, at);
  };
}

/** Checks fields of an object, in the order of the names. Several checks of a field run one after the other. */
export function fields(of: Readonly<Record<string, FieldCheck | readonly FieldCheck[]>>): FieldCheck {
  const entries = Object.entries(of).map(
    ([name, check]) => [name, typeof check === 'function' ? check : all(...check)] as const,
  );
  return (value, at) => {
    const record = recordOf(value);
    for (const [name, check] of entries) at.into(name, record[name], check);
  };
}

export function each(check: FieldCheck): FieldCheck {
  return (value, at) => {
    for (const [index, item] of listOf(value).entries()) at.into(index, item, check);
  };
}

/** For fields that are pointers in Go: an absent value is right. */
export function ifGiven(check: FieldCheck): FieldCheck {
  return (value, at) => {
    if (isPresent(value)) check(value, at);
  };
}

/** For texts and lists: an empty value is right. */
export function ifFilled(check: FieldCheck): FieldCheck {
  return (value, at) => {
    if (!isEmpty(value)) check(value, at);
  };
}

function isEmpty(value: unknown): boolean {
  return !isPresent(value) || value === '' || value === 0 || (Array.isArray(value) && value.length === 0);
}

export const filled: FieldCheck = needed('');

/** A value that may not be empty. */
export function needed(detail: string): FieldCheck {
  return (value, at) => {
    if (isEmpty(value)) at.required('', detail);
  };
}

/** A required value: if the value is there, the checks run. */
export function requiredThen(check: FieldCheck, detail = ''): FieldCheck {
  return (value, at) => {
    if (isEmpty(value)) at.required('', detail);
    else check(value, at);
  };
}

/** A value that may be empty, but not absent: for fields that are pointers in Go. */
export function givenThen(check: FieldCheck): FieldCheck {
  return (value, at) => {
    if (isPresent(value)) check(value, at);
    else at.required();
  };
}

export function textOfForm(check: TextCheck): FieldCheck {
  return (value, at) => {
    for (const mistake of check(wordOf(value))) at.invalid('', wordOf(value), mistake);
  };
}

/** One of these values. An absent value counts as the empty text. */
export function oneOf(...values: readonly string[]): FieldCheck {
  return (value, at) => {
    if (!values.includes(wordOf(value))) at.unsupported('', wordOf(value), values);
  };
}

export function requiredOneOf(...values: readonly string[]): FieldCheck {
  return requiredThen(oneOf(...values));
}

export const notNegative: FieldCheck = atLeast(0, 'must be greater than or equal to 0');
export const positiveNumber: FieldCheck = atLeast(1, 'must be greater than zero');

export function atLeast(min: number, detail: string): FieldCheck {
  return (value, at) => {
    if (numberOf(value) < min) at.invalid('', value ?? 0, detail);
  };
}

export function between(min: number, max: number, detail = `must be between ${min} and ${max}, inclusive`): FieldCheck {
  return (value, at) => {
    const number = numberOf(value);
    if (number < min || number > max) at.invalid('', value ?? 0, detail);
  };
}

export function longest(max: number): FieldCheck {
  return (value, at) => {
    if (Buffer.byteLength(wordOf(value)) > max) at.tooLong('', max);
  };
}
