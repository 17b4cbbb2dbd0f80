/** The answer to an object that is of another kind than its request. */
import { parseApiVersion } from '../../object/meta.ts';
import { builtinKinds } from '../builtin/builtin-kinds.ts';

interface Named {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Versions that Kubernetes does not serve any more, and still reads. */
const formerVersion = /^v\d+(alpha|beta)\d+$/;

/**
 * Why an object of another kind can't be read as one of the kind of the request, in the words of Kubernetes.
 * `isVersion`: the object is of the right kind, and only its version is another one.
 */
export function unreadableKind(
  { apiVersion, kind }: Named,
  expected: Named,
): { readonly why: string; readonly isVersion: boolean } {
  const { group, version } = parseApiVersion(apiVersion);
  const isKnown = kind === 'List' ? apiVersion === 'v1' : isBuiltIn(group, version, kind);
  if (kind === expected.kind && (isKnown || formerVersion.test(version))) {
    const why = `the API version in the data (${apiVersion}) does not match the expected API version (${expected.apiVersion})`;
    return { why, isVersion: true };
  }
  const why = isKnown
    ? `converting (${version}.${kind}) to (${packageOf(expected)}.${expected.kind}): unknown conversion`
    : `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:110"`;
  return { why, isVersion: false };
}

function isBuiltIn(group: string, version: string, kind: string): boolean {
  return builtinKinds().some((one) => one.group === group && one.kind === kind && one.versions.includes(version));
}

/** The Go package of the form of a kind without version. */
function packageOf({ apiVersion, kind }: Named): string {
  const { group } = parseApiVersion(apiVersion);
  return group === '' || kind === 'Event' ? 'core' : group.split('.')[0]!;
}
