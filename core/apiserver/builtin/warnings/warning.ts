/** The words of this folder. A warning is a text for the user who writes an object. Warnings are made one by one: most are never shown. */
import type { KubeObject } from '../../../object/meta.ts';
import type { Values } from '../../../object/pod-template.ts';
import { isRecord } from '../../../runtime/is-record.ts';
import type { WarnedWrite } from '../../schema.ts';
import { amountText, nanosOf } from '../validation/resources.ts';

export type Warnings = Iterable<string>;

export type ObjectWarnings = (object: KubeObject, write: WarnedWrite) => Warnings;

/** A field below another one. An empty owner is the object itself, and an empty field its owner. */
export function below(owner: string, field: string): string {
  return owner === '' || field === '' ? owner + field : `${owner}.${field}`;
}

export function valuesIn(owner: unknown, ...path: readonly string[]): Values {
  const value = path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), owner);
  return isRecord(value) ? value : {};
}

export function listIn(owner: unknown, name: string): readonly unknown[] {
  const list = valuesIn(owner)[name];
  return Array.isArray(list) ? list : [];
}

/** The annotations in the table that the object has. */
export function* oldAnnotations(
  annotations: Values,
  table: readonly (readonly [name: string, why: string])[],
  owner: string,
): Warnings {
  for (const [name, why] of table) {
    if (Object.hasOwn(annotations, name)) yield `${below(owner, 'metadata.annotations')}[${name}]: ${why}`;
  }
}

const nanosOfOne = 1_000_000_000n;

/** Bytes of which a part is no whole one. */
export function* fractionalBytes(amounts: Values, name: string, path: string): Warnings {
  const amount = amounts[name];
  if (amount === undefined || nanosOf(amount) % nanosOfOne === 0n) return;
  yield `${path}[${name}]: fractional byte value ${JSON.stringify(amountText(amount))} is invalid, must be an integer`;
}
