/** The parameters of a write, from its URL and its headers. A DELETE may have parameters in its body too. */

import { invalidField, messageValue, notSupported, tooLong } from '../../object/field-error.ts';
import { ownField } from '../../object/json-value.ts';
import { BanyanError, type Cause } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { decodeProtobuf } from '../protobuf/decode.ts';
import type { DeleteOptions, WriteOptions } from '../space.ts';
import { invalidObject } from '../status-errors.ts';
import { isPart } from '../verbs/object-parts.ts';
import { mediaTypeOf, parseRequestBody } from './body.ts';
import { header, type WriteRequest } from './requests.ts';

/** The parts of the URL that decide which options are allowed. */
interface Addressed {
  readonly version: string;
  readonly subresource: string;
}

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions' | 'ListOptions';

const optionsKinds: Readonly<Record<string, OptionsKind>> = { POST: 'CreateOptions', PUT: 'UpdateOptions' };

/** The error for an invalid parameter. kube-apiserver and its clients treat the parameters of a request as an object of a kind such as PatchOptions. */
export function invalidOption(kind: OptionsKind, ...causes: readonly Cause[]): BanyanError {
  return invalidObject({ group: 'meta.k8s.io', kind }, '', causes);
}

/** The write adds its warnings to the list `warnings`. */
export function writeOptionsOf(request: WriteRequest, target: Addressed, warnings: string[]): WriteOptions {
  const { query, user } = request;
  const kind = ownField(optionsKinds, request.method) ?? 'PatchOptions';
  return {
    fieldManager: fieldManagerOf(query.get('fieldManager'), kind) ?? managerOfAgent(request),
    dryRun: isDryRun(query.get('dryRun'), kind),
    fieldValidation: fieldValidationOf(query.get('fieldValidation'), kind),
    warn: (text) => warnings.push(text),
    version: target.version,
    ...(user ? { user } : {}),
    ...(isSubresource(target.subresource) ? { subresource: target.subresource } : {}),
  };
}

/** Bytes of the name of a manager, as in Kubernetes. */
const managerBytesMax = 128;

function fieldManagerOf(value: string | null, kind: OptionsKind): string | undefined {
  if (value === null || value === '') return undefined;
  if (Buffer.byteLength(value) <= managerBytesMax) return value;
  throw invalidOption(kind, tooLong('fieldManager', managerBytesMax));
}

/** The name of a client that names no manager: that of its program, cut where Kubernetes cuts it. */
function managerOfAgent(request: WriteRequest): string {
  const name = (header(request, 'user-agent') ?? 'unknown').split('/')[0]!;
  return Buffer.from(name).subarray(0, managerBytesMax).toString();
}

function fieldValidationOf(value: string | null, kind: OptionsKind): NonNullable<WriteOptions['fieldValidation']> {
  if (value === null || value === '') return 'Warn';
  if (value === 'Strict' || value === 'Warn' || value === 'Ignore') return value;
  throw unsupported(kind, 'fieldValidation', value, ['', 'Ignore', 'Strict', 'Warn']);
}

function isSubresource(name: string): name is NonNullable<WriteOptions['subresource']> {
  return name === 'status' || name === 'scale' || name === 'finalize' || isPart(name);
}

function isDryRun(value: string | null, kind: OptionsKind): boolean {
  if (value === null || value === '') return false;
  if (value === 'All') return true;
  throw unsupported(kind, 'dryRun', value, ['All']);
}

function unsupported(kind: OptionsKind, field: string, value: unknown, supported: readonly string[]): BanyanError {
  return invalidOption(kind, notSupported(field, value, supported));
}

export async function deleteOptionsOf(
  request: WriteRequest,
  target: Pick<Addressed, 'version'>,
  warnings: string[],
): Promise<DeleteOptions> {
  const bytes = await request.body();
  const media = mediaTypeOf(header(request, 'content-type'));
  const body =
    bytes.length === 0 ? undefined : await parseRequestBody(bytes, media, decodeProtobuf, request.readLongYaml);
  return deleteOptionsIn(body, request, target, warnings);
}

/** The options in `sent`, an object of kind DeleteOptions, and in the URL. Undefined: there is no such object. */
export function deleteOptionsIn(
  sent: unknown,
  request: Pick<WriteRequest, 'query' | 'user'>,
  target: Pick<Addressed, 'version'>,
  warnings: string[],
): DeleteOptions {
  const body = sent === undefined || sent === null ? {} : deleteBody(sent);
  const policy =
    body.propagationPolicy ?? request.query.get('propagationPolicy') ?? (body.orphanDependents ? 'Orphan' : undefined);
  if (body.orphanDependents !== undefined && body.orphanDependents !== null && body.propagationPolicy !== undefined) {
    const message = 'orphanDependents and deletionPropagation cannot be both set';
    throw invalidOption('DeleteOptions', invalidField('propagationPolicy', policy, message));
  }
  if (policy !== undefined && policy !== 'Foreground' && policy !== 'Background' && policy !== 'Orphan') {
    throw unsupported('DeleteOptions', 'propagationPolicy', policy, ['Foreground', 'Background', 'Orphan']);
  }
  return {
    ...(request.user ? { user: request.user } : {}),
    warn: (text) => warnings.push(text),
    version: target.version,
    dryRun: isDryRun(request.query.get('dryRun') ?? body.dryRun?.[0] ?? null, 'DeleteOptions'),
    ...(policy ? { propagationPolicy: policy } : {}),
    ...(body.preconditions ? { preconditions: body.preconditions } : {}),
  };
}

interface DeleteBody {
  kind?: string;
  propagationPolicy?: unknown;
  orphanDependents?: unknown;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: (string | undefined)[];
}

function deleteBody(body: unknown): DeleteBody {
  if (!isRecord(body) || (body.kind ?? 'DeleteOptions') !== 'DeleteOptions') {
    throw new BanyanError('BadRequest', 'the body of a DELETE must be empty or one object of kind DeleteOptions');
  }
  const { preconditions, dryRun } = body;
  const isRight = isRecord(preconditions) && Object.values(preconditions).every((value) => typeof value === 'string');
  if (preconditions !== undefined && preconditions !== null && !isRight) {
    const message = `preconditions: must be an object with the texts uid and resourceVersion, not ${messageValue(preconditions)}`;
    throw new BanyanError('BadRequest', message);
  }
  if (dryRun !== undefined && dryRun !== null && !Array.isArray(dryRun)) {
    throw new BanyanError('BadRequest', `dryRun: must be a list, not ${messageValue(dryRun)}`);
  }
  return body as DeleteBody;
}
