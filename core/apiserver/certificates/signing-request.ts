/**
 * A CertificateSigningRequest and its states, as Kubernetes has them
 * (https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/).
 */
import type { GroupResource } from '../../object/key.ts';
import type { KubeObject } from '../../object/meta.ts';

export const signingRequestResource = { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' } as const;

/** The only signer of Kubernetes that this node can be: its certificates are of users of the API. */
export const userSignerName = 'kubernetes.io/kube-apiserver-client';

export interface RequestCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string;
  lastTransitionTime?: string;
}

export interface SigningRequest extends KubeObject {
  spec: {
    /** PEM, in base64. */
    request: string;
    signerName: string;
    usages?: string[];
    expirationSeconds?: number;
    username?: string;
    uid?: string;
    groups?: string[];
    extra?: Record<string, readonly string[]>;
  };
  status?: { conditions?: RequestCondition[]; certificate?: string };
}

export function isSigningRequest({ group, resource }: GroupResource): boolean {
  return group === signingRequestResource.group && resource === signingRequestResource.resource;
}

export function conditionOf({ status }: SigningRequest, type: string): RequestCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** Whether the request waits for this node's signature. */
export function awaitsSignature(request: SigningRequest): boolean {
  return (
    request.spec.signerName === userSignerName &&
    conditionOf(request, 'Approved') !== undefined &&
    conditionOf(request, 'Denied') === undefined &&
    conditionOf(request, 'Failed') === undefined &&
    !request.status?.certificate
  );
}

export function pemOf({ spec }: SigningRequest): string {
  return Buffer.from(spec.request, 'base64').toString('latin1');
}

const hourMs = 3_600_000;
/** The times of the controller of Kubernetes: a person who has decided looks at the result within an hour, and decides within a day. */
const decidedKeptMs = hourMs;
const pendingKeptMs = 24 * hourMs;

/**
 * Whether the request is old enough to be deleted. A request that was approved and that nobody has signed stays: its signer may be away. `certificateEndMs`: the end of
 * the issued certificate.
 */
export function isRequestOver(request: SigningRequest, nowMs: number, certificateEndMs: number | undefined): boolean {
  const since = (time: string | undefined) => nowMs - (Date.parse(time ?? '') || 0);
  const isDecided = (type: string) => {
    const condition = conditionOf(request, type);
    return condition !== undefined && since(condition.lastUpdateTime) > decidedKeptMs;
  };
  if (request.status?.certificate) {
    return isDecided('Approved') || (certificateEndMs !== undefined && certificateEndMs < nowMs);
  }
  if (isDecided('Denied') || isDecided('Failed')) return true;
  return (request.status?.conditions ?? []).length === 0 && since(request.metadata.creationTimestamp) > pendingKeptMs;
}
