/**
 * Refuses a change of a definition that would make stored objects unreadable. Objects of a definition with a conversion webhook are stored in the version in
 * which they were written. A Kubernetes API server would convert them through the webhook.
 */
import { parseBody } from '../../object/canonical.ts';
import { invalidField } from '../../object/field-error.ts';
import type { ObjectKey } from '../../object/key.ts';
import { parseApiVersion } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { SpaceStorage } from '../storage.ts';
import type { DefinitionSpec } from './definition.ts';
import { isExactFor } from './version-conversion.ts';

/**
 * The mistakes in the new spec, one for each version that loses its objects. The objects are read only if a version of a definition with a webhook is no
 * longer served, or if the webhook is no longer used. Both are rare.
 */
export function checkStoredObjects(next: DefinitionSpec, before: DefinitionSpec, storage: SpaceStorage): Cause[] {
  if (before.conversion?.strategy !== 'Webhook') return [];
  const lost = new Set(before.versions.map(({ name }) => name).filter((name) => !keeps(next, name)));
  if (lost.size === 0) return [];
  const found = firstStoredIn(lost, before, storage);
  return [...found].map(([version, key]) => causeOf(next, version, key));
}

/** Whether clients can still read the objects that are stored in this version. */
function keeps(next: DefinitionSpec, version: string): boolean {
  const storage = next.versions.find((one) => one.storage)?.name;
  const isServed = next.versions.some(({ name, served }) => name === version && served);
  if (next.conversion?.strategy === 'Webhook') return isServed;
  // Without a webhook, the server changes only the apiVersion of an object, to the version that the client asks for.
  return version === storage || (storage !== undefined && isExactFor(next, version, storage));
}

/** One object of each of these versions. Ends when every version has one. */
function firstStoredIn(
  versions: ReadonlySet<string>,
  { group, names }: DefinitionSpec,
  storage: SpaceStorage,
): Map<string, ObjectKey> {
  const found = new Map<string, ObjectKey>();
  storage.visit({ group, resource: names.plural }, {}, ({ key, body }) => {
    const { version } = parseApiVersion(parseBody(body).apiVersion);
    if (versions.has(version) && !found.has(version)) found.set(version, key);
    return found.size < versions.size;
  });
  return found;
}

function causeOf(next: DefinitionSpec, version: string, { namespace, name }: ObjectKey): Cause {
  const object = `${next.names.plural}.${next.group} ${namespace === '' ? name : `${namespace}/${name}`}`;
  const others = next.versions.filter((one) => one.served && one.name !== version).map((one) => one.name);
  const remedy = `write these objects in another version first (${others.join(', ') || 'none is served'}), or delete them`;
  const index = next.versions.findIndex((one) => one.name === version);
  if (index >= 0 && next.conversion?.strategy === 'Webhook') {
    const why = `objects are stored in ${version}, such as ${object}, and this API server can't convert them: ${remedy}`;
    return invalidField(`spec.versions[${index}].served`, false, why);
  }
  if (next.conversion?.strategy === 'Webhook') {
    const why = `must keep ${version}: objects are stored in ${version}, such as ${object}, and this API server can't convert them: ${remedy}`;
    return invalidField(
      'spec.versions',
      next.versions.map((one) => one.name),
      why,
    );
  }
  const why = `objects are stored in ${version}, such as ${object}, and ${next.conversion?.strategy ?? 'None'} would change only their apiVersion: ${remedy}`;
  return invalidField('spec.conversion.strategy', next.conversion?.strategy ?? 'None', why);
}
