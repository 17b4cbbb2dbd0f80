/** `banyan user revoke NAME`: ends the certificates of a user, by a Revocation. `banyan user add` reads it, so that a new certificate is good. */
import { shownPath } from '../../core/identity/node-path.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { NodeApiClient } from './api-client.ts';

const apiVersion = 'mesh.banyan.io/v1alpha1';
const revocations = `/apis/${apiVersion}/revocations`;

type Api = Pick<NodeApiClient, 'contexts' | 'get' | 'apply'>;

/** Returns what the person reads. `path`: the node at which the revocation begins; it holds there and below. */
export async function revokeUser(api: Api, name: string, path: string, clock: Clock): Promise<string> {
  const context = contextOf(api, path);
  const issuedBefore = new Date(clock.wallMs()).toISOString();
  const object = {
    apiVersion,
    kind: 'Revocation',
    metadata: { name: objectName(name) },
    spec: { user: name, issuedBefore },
  };
  await api.apply(context, `${revocations}/${objectName(name)}`, object);
  return `all certificates of the user ${name} are refused at ${shownPath(path)} and below; a new one from "user add" is good`;
}

/** The last revocation of the user at the center, in ms. Undefined: there is none. */
export async function revokedAtMs(api: Api, name: string): Promise<number | undefined> {
  const found = await api.get(contextOf(api, ''), `${revocations}/${objectName(name)}`);
  const { issuedBefore } = ((found as KubeObject | undefined)?.spec ?? {}) as { issuedBefore?: string };
  return issuedBefore === undefined ? undefined : Date.parse(issuedBefore);
}

function contextOf(api: Api, path: string): string {
  const context = `node/${shownPath(path)}`;
  if (api.contexts().includes(context)) return context;
  throw new BanyanError('NotFound', `the kubeconfig has no context ${context}: name one of its nodes with --at`);
}

/** Names of users have characters that names of objects can't have. */
function objectName(user: string): string {
  return `user-${Buffer.from(hash128(user)).toString('hex').slice(0, 16)}`;
}
