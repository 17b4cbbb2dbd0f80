/**
 * Answers questions about rights: `kubectl auth whoami`, `kubectl auth can-i`, and the reviews with which controllers ask about other users. The answers are about
 * the place to which the URL of the request leads.
 */

import {
  type AccessAttributes,
  type Requester,
  type ReviewedRequest,
  reviewedAttributes,
} from '../../access/attributes.ts';
import type { Authorizer } from '../../access/authorizer.ts';
import type { AccessPlace } from '../../access/grant-scope.ts';
import { rulesReview } from '../../access/rbac.ts';
import { invalidField } from '../../object/field-error.ts';
import { ownField } from '../../object/json-value.ts';
import type { Cause } from '../../runtime/errors.ts';
import { invalidObject } from '../status-errors.ts';
import { checkAcceptsObject } from './negotiate.ts';
import { requestObject } from './request-object.ts';
import type { TokenUsers } from './request-users.ts';
import { type ApiRequest, type ApiResponse, header, jsonResponse } from './requests.ts';

type Spec = ReviewedRequest & {
  readonly namespace?: string;
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
};

interface Question {
  readonly spec: Spec;
  readonly user: Requester;
  readonly authorizer: Authorizer;
  readonly place: AccessPlace;
  /** The namespace of the URL. Empty: the URL has none. */
  readonly namespace: string;
  readonly tokens: TokenUsers | undefined;
}

interface ReviewKind {
  readonly kind: string;
  readonly group: 'authentication.k8s.io' | 'authorization.k8s.io';
  check?(question: Question): Cause[];
  status(question: Question): object | Promise<object>;
}

const kinds: Readonly<Record<string, ReviewKind>> = {
  'authentication.k8s.io/selfsubjectreviews': {
    kind: 'SelfSubjectReview',
    group: 'authentication.k8s.io',
    status: ({ user: { name, groups, uid, extra } }) => ({
      userInfo: { username: name, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) },
    }),
  },
  'authentication.k8s.io/tokenreviews': {
    kind: 'TokenReview',
    group: 'authentication.k8s.io',
    status: tokenVerdict,
  },
  'authorization.k8s.io/selfsubjectaccessreviews': {
    kind: 'SelfSubjectAccessReview',
    group: 'authorization.k8s.io',
    check: checkAttributes,
    status: (question) => verdict(question, question.user),
  },
  'authorization.k8s.io/selfsubjectrulesreviews': {
    kind: 'SelfSubjectRulesReview',
    group: 'authorization.k8s.io',
    check: ({ spec }) => (spec.namespace ? [] : [invalidField('spec.namespace', '', 'no namespace on request')]),
    status: ({ spec, user, authorizer, place }) => rulesReview(authorizer.rulesAt(user, place, spec.namespace!)),
  },
  'authorization.k8s.io/subjectaccessreviews': {
    kind: 'SubjectAccessReview',
    group: 'authorization.k8s.io',
    check: (question) => [...checkAttributes(question), ...checkSubject(question)],
    status: (question) => verdict(question, subjectOf(question.spec)),
  },
  'authorization.k8s.io/localsubjectaccessreviews': {
    kind: 'LocalSubjectAccessReview',
    group: 'authorization.k8s.io',
    check: (question) => [...checkAttributes(question), ...checkSubject(question), ...checkNamespace(question)],
    status: (question) => verdict(question, subjectOf(question.spec)),
  },
};

const path = /^\/apis\/(authentication\.k8s\.io|authorization\.k8s\.io)\/v1\/(?:namespaces\/([^/]+)\/)?([a-z]+)$/;

/** Undefined: the request is no review. The caller has checked that the user may create the review. */
export async function reviewOf(
  request: ApiRequest,
  { authorizer, place, tokens }: Pick<Question, 'authorizer' | 'place' | 'tokens'>,
): Promise<ApiResponse | undefined> {
  const [, group, namespace = '', resource] = path.exec(request.path) ?? [];
  const kind = ownField(kinds, `${group}/${resource}`);
  if (!kind || request.method !== 'POST' || (namespace !== '') !== (kind.kind === 'LocalSubjectAccessReview'))
    return undefined;
  checkAcceptsObject(header(request, 'accept'));
  const apiVersion = `${kind.group}/v1`;
  const type = `io.k8s.api.${kind.group.slice(0, kind.group.indexOf('.'))}.v1.${kind.kind}`;
  const body = await requestObject(request, { kind: kind.kind, apiVersion, type });
  const spec = given(body.spec);
  const question = { spec, user: request.user, authorizer, place, namespace, tokens };
  const causes = kind.check?.(question) ?? [];
  if (causes.length > 0) throw invalidObject({ group: kind.group, kind: kind.kind }, '', causes);
  const metadata = namespace === '' ? {} : { namespace };
  return jsonResponse(201, { kind: kind.kind, apiVersion, metadata, spec, status: await kind.status(question) });
}

/** The fields that the request gives. Go reads null as an absent field. */
function given(spec: unknown): Spec {
  return Object.fromEntries(Object.entries(spec ?? {}).filter(([, value]) => value !== null));
}

/** https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/ */
async function tokenVerdict({ spec, tokens }: Question): Promise<object> {
  const { token = '', audiences = [] } = spec as { token?: string; audiences?: readonly string[] };
  const asked = audiences.length > 0 ? audiences : undefined;
  const user = await tokens?.userOf(token, asked);
  if (!user) return { authenticated: false, error: 'the token is not valid at this node, or not for these audiences' };
  const { name, uid, groups, extra } = user;
  return {
    authenticated: true,
    user: { username: name, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) },
    ...(asked ? { audiences: await commonAudiences(token, asked, tokens!) } : {}),
  };
}

/** The audiences among the asked ones for which the token is. */
async function commonAudiences(token: string, asked: readonly string[], tokens: TokenUsers): Promise<string[]> {
  const own = new Set(await tokens.audiencesOf(token));
  return asked.filter((audience) => own.has(audience));
}

function verdict({ spec, authorizer, place }: Question, user: Requester): object {
  const attributes: AccessAttributes = reviewedAttributes(user, spec);
  const { allowed, reason } = authorizer.decide(attributes, place);
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

function subjectOf({ user = '', groups = [], uid, extra }: Spec): Requester {
  return { name: user, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) };
}

function checkAttributes({ spec }: Question): Cause[] {
  if ((spec.resourceAttributes === undefined) !== (spec.nonResourceAttributes === undefined)) return [];
  const message = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalidField('spec.resourceAttributes', spec.resourceAttributes ?? null, message)];
}

function checkSubject({ spec: { user = '', groups = [] } }: Question): Cause[] {
  if (user !== '' || groups.length > 0) return [];
  return [invalidField('spec.user', '', 'at least one of user or group must be specified')];
}

function checkNamespace({ spec: { resourceAttributes, nonResourceAttributes }, namespace }: Question): Cause[] {
  if (nonResourceAttributes !== undefined) {
    return [invalidField('spec.nonResourceAttributes', nonResourceAttributes, 'disallowed on this kind of request')];
  }
  const asked = resourceAttributes?.namespace ?? '';
  return asked === namespace
    ? []
    : [invalidField('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace')];
}
