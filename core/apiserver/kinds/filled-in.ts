/**
 * Fields that a workload space fills in, because tools that read a status also read these fields (`tool-defaults.ts`). helm 3 also waits until a Service has an
 * address. The values are those that an API server gives. They do not travel: each cluster fills in its own. An annotation names the fields, so that a field
 * that a person writes does travel.
 */

import { stableStringify } from '../../object/canonical.ts';
import { hash128 } from '../../object/hash.ts';
import { formatGroupResource, type ObjectKey } from '../../object/key.ts';
import type { Json, KubeObject } from '../../object/meta.ts';
import { isGiven, type Spec, type SpecDefaults, toolDefaults, valueAt, withValueAt } from '../builtin/tool-defaults.ts';
import type { WriteAdmission } from '../space.ts';

const annotation = 'edge.banyan.io/filled-in';

/** The fields of each kind below `spec`. `spec` has no filled in fields. Undefined: the kind has none. */
function fillingOf(key: ObjectKey, spec: Spec): SpecDefaults | undefined {
  if (formatGroupResource(key) !== 'services') return toolDefaults(key, spec);
  return spec.type === 'ExternalName' ? {} : { clusterIP: shownAddress(key) };
}

/**
 * The address of a Service in its space. No traffic reaches it: 240.0.0.0/4 is reserved, so no cluster and no network uses it. Two Services may have the same
 * one, which does no harm.
 */
function shownAddress({ namespace, name }: ObjectKey): string {
  const [a = 0, b = 0, c = 0, d = 0] = hash128(`${namespace}/${name}`);
  return `${240 + (a % 15)}.${b}.${c}.${d}`;
}

function isShownAddress(value: Json | undefined): boolean {
  return typeof value === 'string' && /^(?:24\d|25[0-4])\.\d+\.\d+\.\d+$/.test(value);
}

/** The admission of a workload space that fills the fields in. Depends on nothing but its arguments, so the thread for long bodies can run it too. */
export const fillIn: WriteAdmission = ({ operation, key, object, old, subresource }) => {
  if (operation === 'delete' || !object || (subresource !== undefined && subresource !== 'scale')) return;
  if (!fillingOf(key, {})) return;
  const filling = (spec: Spec) => fillingOf(key, spec) ?? {};
  const written = asWritten(object, old, filling);
  let spec = written;
  const names: string[] = [];
  for (const [path, value] of Object.entries(filling(written))) {
    const own = valueAt(spec, path);
    // An object that was copied has the address of the Service from which it was copied.
    if (isGiven(own) && !isShownAddress(own)) continue;
    spec = withValueAt(spec, path, value);
    names.push(path);
  }
  object.spec = spec;
  note(object, names);
};

/**
 * The spec without the values that the space has filled in: those that it would fill in again, and those that nobody has changed since. The latter matters when
 * another field is changed: the parameters of a rolling update are wrong after a change of the strategy to `Recreate`.
 */
function asWritten(object: KubeObject, old: KubeObject | undefined, filling: (spec: Spec) => SpecDefaults): Spec {
  const before = new Set(old ? filledIn(old) : []);
  let spec = (object.spec ?? {}) as Spec;
  for (const path of filledIn(object)) {
    const value = valueAt(spec, path);
    const rest = withValueAt(spec, path, undefined);
    const isUnchanged = before.has(path) && isSame(value, valueAt(old?.spec as Spec | undefined, path));
    if (isUnchanged || isSame(value, filling(rest)[path])) spec = rest;
  }
  return spec;
}

/** The object as it travels: without the fields that its space has filled in. */
export function withoutFilledIn(object: KubeObject): KubeObject {
  const names = filledIn(object);
  if (names.length === 0) return object;
  const spec = names.reduce((rest, path) => withValueAt(rest, path, undefined), (object.spec ?? {}) as Spec);
  const { [annotation]: _names, ...annotations } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations }, spec };
}

function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return isGiven(a) && isGiven(b) && stableStringify(a) === stableStringify(b);
}

function filledIn({ metadata }: KubeObject): readonly string[] {
  return metadata.annotations?.[annotation]?.split(',') ?? [];
}

function note({ metadata }: KubeObject, names: readonly string[]): void {
  const { [annotation]: _former, ...rest } = metadata.annotations ?? {};
  const annotations = names.length > 0 ? { ...rest, [annotation]: names.join(',') } : rest;
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
}
