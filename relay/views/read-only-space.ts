/** Makes the space behind a read-only URL: it answers like any space, and nothing can be written. */
import { fieldManager } from '../../core/apiserver/managed-fields/field-manager.ts';
import type { Kinds, Space } from '../../core/apiserver/space.ts';
import type { ViewStorage } from '../../core/apiserver/storage/view.ts';
import { EmbeddedSpace } from '../../core/apiserver/verbs/embedded-space.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Random } from '../../core/runtime/random.ts';

export interface ReadOnlySpacePorts {
  readonly clock: Clock;
  readonly random: Random;
}

export function readOnlySpace(
  { clock, random }: ReadOnlySpacePorts,
  of: { readonly name: string; readonly storage: ViewStorage; readonly kinds: Kinds },
): Space {
  return new EmbeddedSpace({ ...of, clock, random, fields: fieldManager, admissions: [] });
}
