/**
 * Certificates that a program on the cluster puts into placed objects. Such a program finds the objects by an annotation. People often write a placeholder into
 * the field (`caBundle: Cg==`), and the program would replace the placeholder again and again.
 */
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import { isRecord } from '../../core/runtime/is-record.ts';

/**
 * https://cert-manager.io/docs/concepts/ca-injector/,
 * https://docs.redhat.com/en/documentation/openshift_container_platform/latest/html/security_and_compliance/configuring-certificates
 */
const annotations: readonly string[] = [
  'cert-manager.io/inject-ca-from',
  'cert-manager.io/inject-ca-from-secret',
  'cert-manager.io/inject-apiserver-ca',
  'service.beta.openshift.io/inject-cabundle',
];
const groups: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
]);

/** Returns the object without the fields that a program on the cluster fills in. The agent then neither applies nor corrects them. */
export function withoutInjected(object: KubeObject): KubeObject {
  const isInjected = annotations.some((name) => object.metadata.annotations?.[name] !== undefined);
  if (!isInjected || !groups.has(parseApiVersion(object.apiVersion).group)) return object;
  return withoutBundles(object) as KubeObject;
}

/** Without every `caBundle` of a client configuration (webhooks, conversion) and of an APIService. A schema of a definition may also have such a name: it stays. */
function withoutBundles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutBundles);
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).filter(([name, field]) => name !== 'caBundle' || typeof field !== 'string');
  return Object.fromEntries(fields.map(([name, field]) => [name, name === 'schema' ? field : withoutBundles(field)]));
}
