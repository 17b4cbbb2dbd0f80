/** What no schema can say of whom a SyncTarget stands for, by its name or by `spec.attachTo`: that depends on where its space is. */

import { checkNodeName, checkPath, isBelow } from '../../identity/node-path.ts';
import { forbiddenField, invalidField, required } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { SpaceType } from './kinds-of-space.ts';

/** Where a space is: its type, and the path of the node that has it (empty: the center). */
export interface SpacePlace {
  readonly type: SpaceType;
  readonly path: string;
}

const field = 'spec.attachTo';

/** An old one that keeps what it has can always be edited. */
export function checkAttachTo(object: KubeObject, old: KubeObject | undefined, place: SpacePlace): Cause[] {
  const attachTo = attachToOf(object);
  if (old && equalJson(attachTo, attachToOf(old))) return [];
  if (place.type !== 'Inventory') {
    if (attachTo === undefined) return old ? [] : namedAsAgent(object);
    return [forbiddenField(field, 'here a SyncTarget stands for the agent of its own name: leave it out')];
  }
  const example = place.path === '' ? 'eu:paris:store-17' : `${place.path}:store-17`;
  if (attachTo === undefined) return [required(field, `the path of the agent that it stands for, such as ${example}`)];
  const wrong = wrongPath(attachTo, place.path);
  return wrong ? [invalidField(field, attachTo, `${wrong}; write the path of an agent, such as ${example}`)] : [];
}

/** Nobody could ever attach by another name. */
function namedAsAgent({ metadata: { name = '' } }: KubeObject): Cause[] {
  const wrong = checkNodeName(name);
  return wrong ? [invalidField('metadata.name', name, `the agent has the same name; ${wrong}`)] : [];
}

function wrongPath(path: string, above: string): string | undefined {
  const wrong = checkPath(path);
  if (wrong) return wrong;
  if (isBelow(path, above)) return undefined;
  return `must lie below "${above}", the node that has this space: only there it has a say`;
}

function attachToOf(object: KubeObject): string | undefined {
  return (object.spec as { attachTo?: string } | undefined)?.attachTo;
}
