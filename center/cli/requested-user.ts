/**
 * Gets the certificate of a user from a running tree, by a CertificateSigningRequest at the center: for people who have a kubeconfig of the tree and not its
 * data directory. The key is made here and stays here.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { userSignerName } from '../../core/apiserver/certificates/signing-request.ts';
import type { KeyAndCertificate } from '../../core/identity/authority.ts';
import { newKey, requestFor } from '../../core/identity/certificate-request.ts';
import type { JsonObject, KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';
import type { UserRequest } from './user.ts';

type Api = Pick<NodeApiClient, 'contexts' | 'get' | 'write' | 'remove'>;

const context = 'node/center';
const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
/** The center signs within milliseconds. A center that is busy or has just started needs longer. */
const signedWithinMs = 20_000;
const lookEveryMs = 100;

interface Signed extends KubeObject {
  readonly status?: JsonObject & {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
}

/** The user of the kubeconfig needs the rights to create the request and to approve it. Throws Forbidden, Invalid, NotFound and Timeout. */
export async function requestUser(api: Api, { name, groups, ttlMs }: UserRequest): Promise<KeyAndCertificate> {
  if (!api.contexts().includes(context)) {
    const remedy = 'use a kubeconfig with it, or name the data directory of the tree by --data';
    throw new BanyanError(
      'NotFound',
      `the center signs users, and the kubeconfig has no context ${context}: ${remedy}`,
    );
  }
  const keyPem = newKey();
  const pem = await requestFor(name, keyPem, groups);
  const made = await written(api, 'POST', requests, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: 'banyan-user-add-' },
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: userSignerName,
      usages: ['client auth'],
      expirationSeconds: Math.floor(ttlMs / 1_000),
    },
  });
  const path = `${requests}/${made.metadata.name}`;
  try {
    const approved = {
      type: 'Approved',
      status: 'True',
      reason: 'UserAdd',
      message: 'approved by the command user add',
    };
    await written(api, 'PUT', `${path}/approval`, { ...made, status: { conditions: [approved] } });
    return { keyPem, certPem: await certificateOf(api, path) };
  } finally {
    // The result counts, and not whether the clean-up works: the center deletes old requests itself (core/apiserver/certificates/request-cleanup.ts).
    const left = await api.get(context, path).catch(() => undefined);
    if (left) await api.remove(context, path, left).catch(() => undefined);
  }
}

async function certificateOf(api: Api, path: string): Promise<string> {
  for (const untilMs = performance.now() + signedWithinMs; performance.now() < untilMs; await delay(lookEveryMs)) {
    const { certificate, conditions = [] } = ((await api.get(context, path)) as Signed | undefined)?.status ?? {};
    if (certificate) return Buffer.from(certificate, 'base64').toString();
    const failed = conditions.find(({ type }) => type === 'Failed');
    if (failed) throw new BanyanError('Invalid', `the center did not sign the certificate: ${failed.message}`);
  }
  const why =
    "does it have the key of the users' authority (pki.users.signer)? Otherwise name a data directory by --data";
  throw new BanyanError(
    'Timeout',
    `the center did not sign the certificate within ${signedWithinMs / 1_000} s: ${why}`,
  );
}

async function written(api: Api, method: 'POST' | 'PUT', path: string, object: object): Promise<KubeObject> {
  const answer = await api.write(context, method, path, object);
  if ('object' in answer) return answer.object;
  throw new BanyanError(answer.refused.code, answer.refused.message);
}
