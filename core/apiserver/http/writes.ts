/** The write requests of one space: calls the verbs with bodies and parameters, and encodes the results. The answer is sent after the write is durable. */

import { forbiddenField, required } from '../../object/field-error.ts';
import { jsonText } from '../../object/json.ts';
import type { GroupResource, ObjectKey } from '../../object/key.ts';
import { formatApiVersion, type JsonObject, type KubeObject, parseApiVersion } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { kindWarnings } from '../builtin/warnings/kind-warnings.ts';
import { goTypeOf } from '../decoding.ts';
import { decodeProtobuf } from '../protobuf/decode.ts';
import type { RequestSelection } from '../selection/selection.ts';
import { type Kind, type Patch, type Space, storedKey, type WriteOptions } from '../space.ts';
import { badRequest, otherName, otherNamespace } from '../status-errors.ts';
import { reportDuplicateFields } from '../verbs/field-validation.ts';
import { unreadableKind } from '../verbs/other-kind.ts';
import { duplicatesIn, type MediaType, mediaTypeOf, parseRequestBody } from './body.ts';
import { Effort, selectsObject } from './list-request.ts';
import { bytesInVersion } from './lists.ts';
import { publicObject } from './public-form.ts';
import { type ApiRequest, type ApiResponse, header, jsonResponse, type WriteRequest } from './requests.ts';
import { successStatus } from './status.ts';
import type { ThreadWrite } from './thread-write.ts';
import { warned } from './warnings.ts';
import { deleteOptionsOf, invalidOption, writeOptionsOf } from './write-options.ts';

export interface WriteTarget {
  readonly space: Space;
  readonly kind: Kind;
  readonly version: string;
  readonly key: ObjectKey;
  readonly subresource: string;
}

/** The verbs that have a body. */
export const verbs: Readonly<
  Record<ThreadWrite['method'], (request: WriteRequest, target: WriteTarget) => Promise<ApiResponse>>
> = { POST: warning(create), PUT: warning(update), PATCH: warning(patch) };

type WarningWrite = (request: WriteRequest, target: WriteTarget, warnings: string[]) => Promise<ApiResponse>;

/** An error takes along the warnings before it, because Kubernetes sends them with a refusal too. */
function warning(write: WarningWrite): (request: WriteRequest, target: WriteTarget) => Promise<ApiResponse> {
  return async (request, target) => {
    const warnings = kindWarnings(target.kind);
    try {
      return await write(request, target, warnings);
    } catch (error) {
      if (!(error instanceof BanyanError) || warnings.length === 0) throw error;
      const { code, message, details, retry } = error;
      throw new BanyanError(code, message, { ...details, warnings }, { cause: error.cause, retry });
    }
  };
}

async function create(request: WriteRequest, target: WriteTarget, warnings: string[]): Promise<ApiResponse> {
  const { object, options } = await objectOf(request, target, writeOptionsOf(request, target, warnings));
  const made = target.space.create(object, options);
  return written(target, { status: 201, object: made, options, warnings });
}

async function update(request: WriteRequest, target: WriteTarget, warnings: string[]): Promise<ApiResponse> {
  const { object, options } = await objectOf(request, target, writeOptionsOf(request, target, warnings));
  checkName(object, target);
  const result =
    target.subresource === 'scale'
      ? target.space.updateScale(target.key, object, options)
      : target.space.update(object, options);
  return written(target, { status: 200, object: result, options, warnings });
}

async function patch(request: WriteRequest, target: WriteTarget, warnings: string[]): Promise<ApiResponse> {
  const media = mediaTypeOf(header(request, 'content-type'));
  const options = writeOptionsOf(request, target, warnings);
  const { body, duplicateFields } = await bodyOf(request, media);
  if (media === 'apply-patch') {
    reportDuplicateFields(duplicateFields, { ...target, options, isPatch: true });
    return apply(request, target, body, options, warnings);
  }
  if (request.query.get('force')) {
    throw invalidOption('PatchOptions', forbiddenField('force', 'may not be specified for non-apply patch'));
  }
  const { type, ...rest } = patchOf(media, body);
  const result = target.space.patch(target.key, { type, ...rest } as Patch, { ...options, duplicateFields });
  return written(target, { status: 200, object: result, options, warnings });
}

async function apply(
  request: WriteRequest,
  target: WriteTarget,
  body: unknown,
  options: WriteOptions,
  warnings: string[],
): Promise<ApiResponse> {
  const fieldManager = request.query.get('fieldManager');
  if (!fieldManager) {
    throw invalidOption('PatchOptions', required('fieldManager', 'is required for apply patch'));
  }
  const sent = body ?? {};
  if (isRecord(sent)) checkAppliedType(sent, target);
  const object = asObject(body, target);
  if (object.metadata.name !== undefined) checkName(object, target);
  const existed = target.space.storage.get(storedKey(target.kind, target.key)) !== undefined;
  if (!existed) request.alsoMay('create');
  const config = {
    ...object,
    metadata: {
      ...object.metadata,
      name: target.key.name,
      ...(target.key.namespace ? { namespace: target.key.namespace } : {}),
    },
  };
  const result = target.space.apply(config, { ...options, fieldManager, force: isForced(request.query.get('force')) });
  return written(target, { status: existed ? 200 : 201, object: result, options, warnings });
}

export async function remove(request: WriteRequest, target: WriteTarget): Promise<ApiResponse> {
  const warnings: string[] = [];
  const options = await deleteOptionsOf(request, target, warnings);
  const deleted = target.space.delete(target.key, options);
  await target.space.storage.flushed();
  const remains = target.space.storage.get(storedKey(target.kind, target.key)) !== undefined;
  const { kind, key } = target;
  const showsObject = remains || options.dryRun;
  const answer = showsObject
    ? publicObject(kind, deleted)
    : successStatus(kind.resource, kind.group, key.name, deleted.metadata.uid);
  return jsonResponse(200, answer, warned(warnings));
}

export async function removeCollection(
  request: WriteRequest & Pick<ApiRequest, 'turn'>,
  target: WriteTarget,
  of: GroupResource,
  selection: RequestSelection,
): Promise<ApiResponse> {
  const warnings: string[] = [];
  const options = await deleteOptionsOf(request, target, warnings);
  const { namespace } = target.key;
  const scope = {
    ...(namespace === '' ? {} : { namespace }),
    matches: (object: KubeObject) => selectsObject({ ...target, selection }, object),
  };
  const items: Buffer[] = [];
  const effort = new Effort(deletesPerTurn);
  for (const deleted of target.space.deleteCollection(of, scope, options)) {
    const item = deleted && Buffer.from(jsonText(publicObject(target.kind, deleted)));
    if (item) items.push(item);
    if (effort.spend(item?.length ?? 0)) await request.turn?.();
  }
  await target.space.storage.flushed();
  const apiVersion = formatApiVersion(target.kind.group, target.version);
  const metadata = { resourceVersion: String(target.space.storage.revision()) };
  const head = jsonText({ kind: target.kind.listKind, apiVersion, metadata, items: [] }).slice(0, -']}'.length);
  const body = Buffer.concat([Buffer.from(head), ...items.flatMap((item, i) => (i > 0 ? [comma, item] : [item])), end]);
  return { status: 200, body, headers: warned(warnings) };
}

/** Deletions, or objects that were only looked at, between two turns. Each deletion is one transaction of 0.1 ms. */
const deletesPerTurn = 100;
const comma = Buffer.from(',');
const end = Buffer.from(']}\n');

interface Written {
  readonly status: number;
  readonly object: KubeObject;
  readonly options: WriteOptions;
  readonly warnings: readonly string[];
}

async function written(
  { space, kind, version, key, subresource }: WriteTarget,
  { status, object, options, warnings }: Written,
): Promise<ApiResponse> {
  // The answer has the stored bytes, because clients compare parts of an object byte by byte, for example FieldsV1.
  const stored = options.dryRun
    ? undefined
    : space.storage.get(storedKey(kind, { ...key, name: object.metadata.name! }));
  const isStored = subresource !== 'scale' && String(stored?.revision) === object.metadata.resourceVersion;
  const bytes = stored && isStored ? bytesInVersion({ space, kind, version }, stored) : undefined;
  await space.storage.flushed();
  const headers = warned(warnings);
  return bytes ? { status, body: bytes, headers } : jsonResponse(status, publicObject(kind, object), headers);
}

/** The object in the body, and the options with the duplicate fields of the body. */
async function objectOf(
  request: WriteRequest,
  target: WriteTarget,
  options: WriteOptions,
): Promise<{ object: KubeObject; options: WriteOptions }> {
  const media = mediaTypeOf(header(request, 'content-type'));
  if (media !== 'json' && media !== 'yaml' && media !== 'protobuf') {
    throw new BanyanError('UnsupportedMediaType', `a ${request.method} takes an object, not a patch`);
  }
  const { body, duplicateFields } = await bodyOf(request, media);
  const object = asObject(body, target);
  return { object, options: duplicateFields.length > 0 ? { ...options, duplicateFields } : options };
}

async function bodyOf(request: WriteRequest, media: MediaType): Promise<{ body: unknown; duplicateFields: string[] }> {
  const bytes = await request.body();
  const body = await parseRequestBody(bytes, media, decodeProtobuf, request.readLongYaml);
  request.parsed?.(body);
  return { body, duplicateFields: duplicatesIn(bytes, media, body) };
}

function expectedOf({ kind, version, subresource }: WriteTarget): {
  readonly apiVersion: string;
  readonly kind: string;
} {
  if (subresource === 'scale') return { apiVersion: 'autoscaling/v1', kind: 'Scale' };
  return { apiVersion: formatApiVersion(kind.group, version), kind: kind.kind };
}

/** As Kubernetes reads a boolean in a URL. */
function isForced(value: string | null): boolean {
  return value !== null && !['', 'false', '0'].includes(value.toLowerCase());
}

/** An applied object has to name its type, and no other one. */
function checkAppliedType({ apiVersion, kind }: Record<string, unknown>, target: WriteTarget): void {
  const expected = expectedOf(target);
  if (apiVersion === expected.apiVersion && kind === expected.kind) return;
  const { group, version } = parseApiVersion(typeof apiVersion === 'string' ? apiVersion : '');
  if (apiVersion && kind === expected.kind && target.space.kinds.byKind(group, version, expected.kind)) {
    const why = 'Incorrect version specified in apply patch. Specified patch version';
    throw badRequest(`${why}: ${String(apiVersion)}, expected: ${expected.apiVersion}`);
  }
  throw badRequest(`invalid object type: ${group}/${version}, Kind=${typeof kind === 'string' ? kind : ''}`);
}

/** The object in a body. Throws unless the object is of the kind in the URL. */
function asObject(sent: unknown, target: WriteTarget): KubeObject {
  // As in Kubernetes, null is an object without fields.
  const body = sent ?? {};
  if (!isRecord(body)) {
    throw new BanyanError('BadRequest', 'the body of the request must be one object with apiVersion and kind');
  }
  const object = body as KubeObject;
  const expected = expectedOf(target);
  for (const name of ['apiVersion', 'kind'] as const) refuseUnreadableType(name, object[name], expected.kind);
  const apiVersion = object.apiVersion ?? expected.apiVersion;
  const kind = object.kind ?? expected.kind;
  if (kind !== expected.kind || apiVersion !== expected.apiVersion) {
    const { why, isVersion } = unreadableKind({ apiVersion, kind }, expected);
    const { version } = parseApiVersion(apiVersion);
    const message = `${kind} in version "${version}" cannot be handled as a ${expected.kind}: ${why}`;
    throw new BanyanError('BadRequest', isVersion ? why : message);
  }
  // The decoder refuses such metadata.
  if (!isRecord(object.metadata ?? {})) return { ...object, apiVersion, kind };
  const metadata = { ...object.metadata };
  const { namespace } = target.key;
  // As in Kubernetes, an object without a namespace may name one.
  if (namespace && metadata.namespace && metadata.namespace !== namespace) {
    throw otherNamespace();
  }
  return { ...object, apiVersion, kind, metadata: namespace ? { ...metadata, namespace } : metadata };
}

/** The first that a server reads of a body is its type. */
function refuseUnreadableType(name: string, value: unknown, expected: string): void {
  if (value === undefined || value === null || typeof value === 'string') return;
  const why = `json: cannot unmarshal ${goTypeOf(value)} into Go struct field .${name} of type string`;
  throw badRequest(
    `the object provided is unrecognized (must be of type ${expected}): couldn't get version/kind; json parse error: ${why}`,
  );
}

function checkName(object: KubeObject, target: WriteTarget): void {
  if (object.metadata.name !== target.key.name) throw otherName(object.metadata.name, target.key.name);
}

function patchOf(media: string, body: unknown): { type: string; operations?: unknown; patch?: JsonObject } {
  switch (media) {
    case 'json-patch':
      return { type: 'json', operations: body };
    case 'merge-patch':
      return { type: 'merge', patch: body as JsonObject };
    case 'strategic-patch':
      return { type: 'strategic', patch: body as JsonObject };
    default:
      throw new BanyanError(
        'UnsupportedMediaType',
        'a patch is application/json-patch+json, merge-patch+json, strategic-merge-patch+json or apply-patch+yaml',
      );
  }
}
