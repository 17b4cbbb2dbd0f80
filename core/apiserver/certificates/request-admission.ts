/** Checks and completes writes of CertificateSigningRequests: their fields, who asks, and who may approve and sign. */
import type { Authorizer } from '../../access/authorizer.ts';
import { fromAboveGroup, privilegedGroup } from '../../access/subjects.ts';
import { timestamp } from '../../object/conditions.ts';
import { invalidField, messageValue } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import type { ObjectKey } from '../../object/key.ts';
import { parseApiVersion } from '../../object/meta.ts';
import type { Clock } from '../../runtime/clock.ts';
import { BanyanError, type Cause } from '../../runtime/errors.ts';
import type { Kinds, UserInfo, WriteAdmission } from '../space.ts';
import { forbidden, invalidObject } from '../status-errors.ts';
import {
  checkAdded,
  checkCertificate,
  checkConditions,
  checkNewRequest,
  isDecision,
  withTimes,
} from './request-check.ts';
import type { RequestReader } from './request-reader.ts';
import {
  isSigningRequest,
  pemOf,
  type RequestCondition,
  type SigningRequest,
  signingRequestResource,
  userSignerName,
} from './signing-request.ts';

export interface RequestAdmissionPorts {
  readonly kinds: Kinds;
  readonly authorizer: Authorizer;
  readonly reader: RequestReader;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** The path of the node. */
  readonly path: string;
  /** Whether the node has the key of the users' authority. */
  readonly signs: boolean;
}

type Request = Parameters<WriteAdmission>[0];

const unsigned = `this node has no key of the users' authority: it stores the request, and does not sign it. Make the request at a node that has the key (\`pki.users.signer\`), usually the center`;

export function checkSigningRequest(ports: RequestAdmissionPorts, request: Request): void {
  const { key, object, old, operation, subresource } = request;
  if (!isSigningRequest(key) || operation === 'delete' || !object) return;
  const kind = ports.kinds.byResource(key)!;
  // The checks expect fields of the right types. If a field has a wrong type, the space reports this after admission, and refuses the write.
  if (kind.rules.validate(object, parseApiVersion(object.apiVersion).version, old).length > 0) return;
  const next = object as SigningRequest;
  if (!old) return create(ports, request, next);
  const before = old as SigningRequest;
  next.spec = before.spec;
  if (subresource === 'approval') approve(ports, request, next, before);
  else if (subresource === 'status') sign(ports, request, next, before);
}

/** The requester is the user of the request, whatever the object says. */
function create({ reader, signs }: RequestAdmissionPorts, { key, user, warn }: Request, next: SigningRequest): void {
  const { username: _1, uid: _2, groups: _3, extra: _4, ...spec } = next.spec;
  next.spec = {
    ...spec,
    ...(user ? { username: user.name, groups: [...user.groups] } : {}),
    ...(user?.uid ? { uid: user.uid } : {}),
    ...(user?.extra ? { extra: { ...user.extra } } : {}),
  };
  refuse(key, [...checkRequest(reader, next), ...checkNewRequest(next)]);
  const { signerName } = next.spec;
  if (signerName.startsWith('kubernetes.io/') && signerName !== userSignerName)
    warn?.(`spec.signerName: no node signs for ${messageValue(signerName)}; for a user, write ${userSignerName}`);
  if (signerName !== userSignerName) return;
  const group = reader.read(pemOf(next)).groups.find((one) => one === privilegedGroup || one === fromAboveGroup);
  if (group !== undefined) throw forbidden(key, `use of ${userSignerName} signer with ${group} group is not allowed`);
  if (!signs) warn?.(unsigned);
}

function checkRequest(reader: RequestReader, next: SigningRequest): Cause[] {
  try {
    reader.read(pemOf(next));
    return [];
  } catch (error) {
    if (!(error instanceof BanyanError) || error.code !== 'Invalid') throw error;
    return [invalidField('spec.request', next.spec.request, error.message)];
  }
}

function approve(
  { authorizer, path, clock }: RequestAdmissionPorts,
  { key, user }: Request,
  next: SigningRequest,
  before: SigningRequest,
): void {
  mustMay({ authorizer, path, key, user, verb: 'approve', signerName: before.spec.signerName });
  const old = before.status?.conditions ?? [];
  const conditions = next.status?.conditions ?? [];
  refuse(key, checkConditions(conditions, old));
  next.status = { ...before.status, conditions: withTimes(conditions, old, timestamp(clock.wallMs())) };
}

/** A signer writes the certificate, or why there is none. It can't approve. */
function sign(
  { authorizer, path, clock }: RequestAdmissionPorts,
  { key, user }: Request,
  next: SigningRequest,
  before: SigningRequest,
): void {
  const old = before.status?.conditions ?? [];
  const ofApprovers = ({ type }: RequestCondition) => isDecision(type);
  const sent = next.status?.conditions ?? [];
  const others = sent.filter((one) => !ofApprovers(one));
  const conditions = withTimes([...old.filter(ofApprovers), ...others], old, timestamp(clock.wallMs()));
  next.status = { ...next.status, conditions };
  const failed = (all: readonly RequestCondition[]) => all.filter(({ type }) => type === 'Failed');
  const { certificate } = next.status;
  if (certificate !== before.status?.certificate || !equalJson(failed(conditions), failed(old)))
    mustMay({ authorizer, path, key, user, verb: 'sign', signerName: before.spec.signerName });
  refuse(key, [
    ...checkAdded(sent, old),
    ...checkConditions(conditions, old),
    ...checkCertificate(certificate, before.status?.certificate),
  ]);
  if (conditions.length === 0) delete next.status.conditions;
}

/** A right on the signer, or on all signers of its domain. The node itself has no user, and may everything. */
function mustMay({
  authorizer,
  path,
  key,
  user,
  verb,
  signerName,
}: Pick<RequestAdmissionPorts, 'authorizer' | 'path'> & {
  readonly key: ObjectKey;
  readonly user: UserInfo | undefined;
  readonly verb: 'approve' | 'sign';
  readonly signerName: string;
}): void {
  if (!user) return;
  const [domain = ''] = signerName.split('/');
  const isAllowed = [signerName, `${domain}/*`].some((name) => {
    const { group: apiGroup } = signingRequestResource;
    const attributes = { user, verb, apiGroup, resource: 'signers', subresource: '', namespace: '', name };
    return authorizer.decide(attributes, { node: path }).allowed;
  });
  if (isAllowed) return;
  throw forbidden(key, `user not permitted to ${verb} requests with signerName ${JSON.stringify(signerName)}`);
}

function refuse(key: ObjectKey, causes: readonly Cause[]): void {
  if (causes.length === 0) return;
  throw invalidObject({ group: key.group, kind: 'CertificateSigningRequest' }, key.name, causes);
}
