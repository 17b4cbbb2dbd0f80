/** A Customizer that can't be worked off is refused, with everything that is wrong with it. */
import { compileCustomizer } from '../../customize/compile.ts';
import type { CustomizerSpec } from '../../customize/customizer.ts';
import { invalidField } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { checkDnsSubdomain } from '../../object/names.ts';
import type { Cause } from '../../runtime/errors.ts';
import { CostTrial } from './customizer-cost.ts';
import { checkCustomizedIdentity } from './customizer-identity.ts';

/** An old one whose spec stays as it is can always be edited. */
export function checkCustomizer(object: KubeObject, old: KubeObject | undefined): readonly Cause[] {
  if (old && equalJson(object.spec, old.spec)) return [];
  const spec = (object.spec ?? {}) as CustomizerSpec;
  const trial = new CostTrial();
  return compileCustomizer(spec, trial.see).causes ?? [...checkCustomizedIdentity(spec), ...trial.causes];
}

/** What `spec.downsync[].customizers` may hold. One that is not there (yet) is said on the placement, not refused. */
export function checkCustomizerNames(names: readonly string[] | undefined, field: string): Cause[] {
  return (names ?? []).flatMap((text, index) => {
    const parts = text.split('/');
    const wrong = parts.length > 2 ? 'has more than one "/"' : parts.map(checkDnsSubdomain).find((message) => message);
    return wrong
      ? [invalidField(`${field}[${index}]`, text, `${wrong}; write NAME or NAMESPACE/NAME of a Customizer`)]
      : [];
  });
}
