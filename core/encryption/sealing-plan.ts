/** Decides what a start does with a store: pure. */
import { BanyanError } from '../runtime/errors.ts';
import type { SealingKey } from './sealing-keys.ts';
import type { SealingRecord } from './sealing-record.ts';

export interface Wanted {
  readonly resources: readonly string[];
  readonly keys: readonly SealingKey[];
}

export type SealingPlan =
  /** The store is clear and stays clear. */
  | { readonly act: 'open-clear' }
  /** The store is empty, and its values are sealed from the first one on. */
  | { readonly act: 'begin' }
  /** The store is sealed as wanted. A pass may be due because the first key is another one. */
  | { readonly act: 'open-sealed'; readonly record: SealingRecord }
  /** The whole store is written anew, sealed or clear, because the former bytes must not stay in the file. `why` completes "the store is written anew: ". */
  | {
      readonly act: 'rewrite';
      readonly sealed: boolean;
      readonly why: string;
      /** Undefined: the store is clear. */
      readonly record: SealingRecord | undefined;
    };

/**
 * `wanted`: undefined without `encryption` in the configuration. `directory` is for messages. Throws BadRequest if the keys do not fit the store. The store is
 * unchanged then.
 */
export function sealingPlan(
  record: SealingRecord | undefined,
  isEmpty: boolean,
  wanted: Wanted | undefined,
  directory: string,
): SealingPlan {
  if (record) checkKeys(record, wanted, directory);
  const isWanted = wanted !== undefined && wanted.resources.length > 0;
  if (!record) {
    if (!isWanted) return { act: 'open-clear' };
    return isEmpty ? { act: 'begin' } : { act: 'rewrite', sealed: true, why: 'encryption was turned on', record };
  }
  if (!isWanted) return { act: 'rewrite', sealed: false, why: 'encryption was turned off', record };
  if ([...record.resources].sort().join() !== [...wanted.resources].sort().join())
    return { act: 'rewrite', sealed: true, why: 'encryption.resources was changed', record };
  if (record.remains)
    return { act: 'rewrite', sealed: true, why: 'it may have values of a former key in free pages', record };
  return { act: 'open-sealed', record };
}

function checkKeys(record: SealingRecord, wanted: Wanted | undefined, directory: string): void {
  const what = `the store in ${directory} is sealed with the key ${record.keys.join(' and the key ')}`;
  if (!wanted) {
    const remedy =
      'name its keys in `encryption`; `resources: []` with the keys opens all values, and `encryption` may go after that';
    throw new BanyanError('BadRequest', `encryption: is missing, but ${what}; ${remedy}`);
  }
  const has = wanted.keys.map(({ id }) => id);
  const missing = record.keys.filter((id) => !has.includes(id));
  if (missing.length === 0) return;
  const remedy = 'put the missing key back, from the backup of the key file; nothing was changed';
  throw new BanyanError('BadRequest', `encryption: ${what}, and the given keys are ${has.join(', ')}; ${remedy}`);
}
