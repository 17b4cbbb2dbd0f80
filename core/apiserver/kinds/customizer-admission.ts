/** Refuses a Customizer that does not compile, and lists all its mistakes. */
import { compileCustomizer } from '../../customize/compile.ts';
import type { CustomizerSpec } from '../../customize/customizer.ts';
import { invalidField } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { checkDnsSubdomain } from '../../object/names.ts';
import type { Cause } from '../../runtime/errors.ts';
import { CostTrial } from './customizer-cost.ts';
import { checkCustomizedIdentity } from './customizer-identity.ts';

/** Accepts every write that does not change the spec, so that users can always edit an old Customizer. */
export function checkCustomizer(object: KubeObject, old: KubeObject | undefined): readonly Cause[] {
  if (old && equalJson(object.spec, old.spec)) return [];
  const spec = (object.spec ?? {}) as CustomizerSpec;
  const trial = new CostTrial();
  return compileCustomizer(spec, trial.see).causes ?? [...checkCustomizedIdentity(spec), ...trial.causes];
}

/**
 * Checks the syntax of the names in `spec.downsync[].customizers`. Does not check that such a Customizer exists: the status of the placement shows a
 * missing one.
 */
export function checkCustomizerNames(names: readonly string[] | undefined, field: string): Cause[] {
  return (names ?? []).flatMap((text, index) => {
    const parts = text.split('/');
    const wrong = parts.length > 2 ? 'has more than one "/"' : parts.map(checkDnsSubdomain).find((message) => message);
    return wrong
      ? [invalidField(`${field}[${index}]`, text, `${wrong}; write NAME or NAMESPACE/NAME of a Customizer`)]
      : [];
  });
}
