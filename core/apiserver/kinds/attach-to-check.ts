/**
 * Checks which agent a SyncTarget represents: by its name or by `spec.attachTo`. No schema can check this, because the answer depends on the place of the
 * space.
 */

import { checkNodeName, checkPath, isBelow } from '../../identity/node-path.ts';
import { forbiddenField, invalidField, required } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { SpaceType } from '../space.ts';

/** The place of a space: the type of the space, and the path of the node that has it (empty for the center). */
export interface SpacePlace {
  readonly type: SpaceType;
  readonly path: string;
}

const field = 'spec.attachTo';

/** Accepts every write that does not change `spec.attachTo`, so that users can always edit an old SyncTarget. */
export function checkAttachTo(object: KubeObject, old: KubeObject | undefined, place: SpacePlace): Cause[] {
  const attachTo = attachToOf(object);
  if (old && equalJson(attachTo, attachToOf(old))) return [];
  if (place.type !== 'Inventory') {
    if (attachTo === undefined) return old ? [] : namedAsAgent(object);
    return [forbiddenField(field, 'in this space, a SyncTarget stands for the agent with its own name: leave it out')];
  }
  const example = place.path === '' ? 'eu:paris:store-17' : `${place.path}:store-17`;
  if (attachTo === undefined)
    return [required(field, `write the path of the agent that the SyncTarget stands for, such as ${example}`)];
  const wrong = wrongPath(attachTo, place.path);
  return wrong ? [invalidField(field, attachTo, `${wrong}; write the path of an agent, such as ${example}`)] : [];
}

/** An agent with an invalid name could never connect. */
function namedAsAgent({ metadata: { name = '' } }: KubeObject): Cause[] {
  const wrong = checkNodeName(name);
  return wrong ? [invalidField('metadata.name', name, `the agent has the same name; ${wrong}`)] : [];
}

function wrongPath(path: string, above: string): string | undefined {
  const wrong = checkPath(path);
  if (wrong) return wrong;
  if (isBelow(path, above)) return undefined;
  return `must be below "${above}", the node that has this space: the space has an effect only there`;
}

function attachToOf(object: KubeObject): string | undefined {
  return (object.spec as { attachTo?: string } | undefined)?.attachTo;
}
