/**
 * The errors of the verbs, with the messages of the Kubernetes API server (apimachinery's api/errors). kubectl prints these messages, and programs search
 * for texts in them.
 */
import { invalidField } from '../object/field-error.ts';
import { formatGroupResource, type GroupResource, type ObjectKey } from '../object/key.ts';
import { type KubeObject, parseApiVersion } from '../object/meta.ts';
import { BanyanError, type Cause } from '../runtime/errors.ts';

export function notFound(key: ObjectKey): BanyanError {
  return new BanyanError('NotFound', `${formatGroupResource(key)} "${key.name}" not found`, resourceDetails(key));
}

export function alreadyExists(key: ObjectKey, isBeingDeleted = false): BanyanError {
  const prefix = isBeingDeleted ? 'object is being deleted: ' : '';
  const message = `${prefix}${formatGroupResource(key)} "${key.name}" already exists`;
  return new BanyanError('AlreadyExists', message, resourceDetails(key));
}

export const modifiedMessage =
  'the object has been modified; please apply your changes to the latest version and try again';

export function conflict(key: ObjectKey, why: string): BanyanError {
  const message = `Operation cannot be fulfilled on ${formatGroupResource(key)} "${key.name}": ${why}`;
  return new BanyanError('Conflict', message, resourceDetails(key));
}

export function forbidden(key: ObjectKey, why: string, causes: readonly Cause[] = []): BanyanError {
  const message = `${formatGroupResource(key)} "${key.name}" is forbidden: ${why}`;
  return new BanyanError('Forbidden', message, { ...resourceDetails(key), ...(causes.length > 0 ? { causes } : {}) });
}

/** Maximal number of causes in one answer. Nobody reads more, and 50,000 causes would need many megabytes. */
export const causesMax = 100;

function moreCauses(count: number): Cause {
  return { reason: 'FieldValueInvalid', message: `${count} more fields have mistakes`, field: '' };
}

/** The message lists several causes in brackets, without duplicate texts. The details contain the kind and not the resource. */
export function invalidObject(
  kind: { group: string; kind: string },
  name: string,
  causes: readonly Cause[],
): BanyanError {
  const shown =
    causes.length <= causesMax ? causes : [...causes.slice(0, causesMax), moreCauses(causes.length - causesMax)];
  const texts = [...new Set(shown.map(({ field, message }) => (field === '' ? message : `${field}: ${message}`)))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const qualified = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return new BanyanError('Invalid', `${qualified} "${name}" is invalid: ${list}`, {
    group: kind.group,
    kind: kind.kind,
    name,
    causes: shown,
  });
}

/** The result of a patch can't be read. `shown` is the patch, or the patched object. */
export function patchRefused(shown: string, why: string): BanyanError {
  return invalidObject({ group: '', kind: '' }, '', [invalidField('patch', shown, why)]);
}

export function badRequest(message: string): BanyanError {
  return new BanyanError('BadRequest', message);
}

/** A body may name its namespace, which has to be that of the URL. */
export function otherNamespace(): BanyanError {
  return badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

export function otherName(name: string | undefined, expected: string): BanyanError {
  return badRequest(
    name
      ? `the name of the object (${name}) does not match the name on the URL (${expected})`
      : `the name of the object (${expected} based on URL) was undeterminable: name must be provided`,
  );
}

/** The default limit of a request in etcd. Every Kubernetes cluster therefore has this limit for an object. */
export const objectBytesMax = 1.5 * 1024 * 1024;

export function tooLarge(key: ObjectKey, bytes: number): BanyanError {
  const what = `${formatGroupResource(key)} "${key.name}" has ${bytes} bytes`;
  const message = `Request entity too large: ${what}, the limit is ${objectBytesMax} bytes (1.5 MiB)`;
  return new BanyanError('TooLarge', message, resourceDetails(key));
}

export function methodNotAllowed(of: GroupResource, what: string): BanyanError {
  const message = `${what} is not supported on resources of kind "${formatGroupResource(of)}"`;
  return new BanyanError('MethodNotAllowed', message, { group: of.group, kind: of.resource });
}

export function notServed(what: string): BanyanError {
  return new BanyanError('NotFound', `the server could not find the requested resource: ${what}`);
}

/**
 * The error if a reader asks for an object in a version to which only a webhook could convert it. It begins as in a Kubernetes API server whose webhook does
 * not answer, because programs search for these words.
 */
export function notConvertible(of: GroupResource, object: KubeObject, version: string): BanyanError {
  const { apiVersion, kind, metadata } = object;
  const { name = '', namespace } = metadata;
  const stored = parseApiVersion(apiVersion).version;
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  const message = `conversion webhook for ${apiVersion}, Kind=${kind} failed: this API server runs no conversion webhooks, and ${formatGroupResource(of)} "${name}"${namespace === undefined ? '' : ` in namespace "${namespace}"`} is stored in ${stored}, the version in which it was written: ask for ${stored} (kubectl get ${of.resource}.${stored}.${of.group} ${name}${where}), or write the whole object in ${version} (kubectl apply --server-side)`;
  return new BanyanError('Internal', message, { group: of.group, kind: of.resource, name });
}

function resourceDetails(key: ObjectKey) {
  return { group: key.group, kind: key.resource, name: key.name };
}
