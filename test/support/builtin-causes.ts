/** What the API server refuses in an object of a built-in kind. */
import { builtinKinds } from '../../core/apiserver/builtin/builtin-kinds.ts';
import { validateMeta } from '../../core/apiserver/verbs/object-meta.ts';
import { formatApiVersion, type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import type { Cause } from '../../core/runtime/errors.ts';

export function builtinCauses(object: KubeObject, old?: KubeObject): Cause[] {
  const { group, version } = parseApiVersion(object.apiVersion);
  const kind = builtinKinds().find((one) => one.group === group && one.kind === object.kind)!;
  return [...validateMeta(kind, object.metadata, old?.metadata), ...kind.rules.validate(object, version, old)];
}

/** What the rules of a kind refuse, whatever its metadata. The API group of the object does not matter. */
export function ruleCauses(name: string, object: KubeObject, old?: KubeObject): Cause[] {
  const kind = builtinKinds().find((one) => one.kind === name)!;
  const [version = ''] = kind.versions;
  const apiVersion = formatApiVersion(kind.group, version);
  return kind.rules.validate({ ...object, apiVersion }, version, old && { ...old, apiVersion });
}
